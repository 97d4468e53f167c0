// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "backends/event_loop/background.hpp"
#include "backends/process/agent_record.hpp"
#include "backends/process/file_calls.hpp"
#include "backends/process/spawner.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// Starts ranks beside the loop, one after the other, since a working directory or a program may be
/// on a file system that does not answer. Ranks die with the thread that started them, which lives
/// as long as this.
class RankStarter {
 public:
  struct Events {
    std::function<RankCommand(int rank)> command_of;  ///< asked for when it is the rank's turn
    std::function<void(int rank, const SpawnedProcess& process)> on_started;
    std::function<void(int rank, const Error& why)> on_failed;
  };

  /// The ranks get `open_files` as their limit of descriptors. What is asked of file systems is
  /// noted in `calls`. Events come from the loop.
  RankStarter(Loop& loop, std::optional<rlimit> open_files, std::shared_ptr<FileCalls> calls,
              Events events);

  /// Adds the ranks that are started from now on to this record, and starts them in its cgroup.
  void record_with(std::shared_ptr<AgentRecorder> recorder);
  void start(int rank);
  /// Those that wait for their turn are not started, and not heard of, any more.
  void forget_waiting() { waiting_.clear(); }
  /// A rank is being started: its process may be there already, and is nobody else's to collect.
  bool is_starting() const { return is_starting_; }

 private:
  struct Spawning;
  struct Start;
  void next();
  void ended(const Start& start);

  Loop& loop_;
  Events events_;
  const std::shared_ptr<Spawning> spawning_;
  std::deque<int> waiting_;
  bool is_starting_ = false;
  Background background_;
};

}  // namespace train
