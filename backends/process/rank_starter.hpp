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

/// Starts ranks beside the loop, one after the other, a few at a time, since a working directory or
/// a program may be on a file system that does not answer. Ranks die with the thread that started
/// them, that of `background`.
class RankStarter {
 public:
  struct Events {
    std::function<RankCommand(int rank)> command_of;
    std::function<void(int rank, const SpawnedProcess& process)> on_started;
    std::function<void(int rank, const Error& why)> on_failed;
    std::function<void()> on_idle;  ///< nothing is being started any more, for now
  };

  /// The ranks get `open_files` as their limit of descriptors. What is asked of file systems is
  /// noted in `calls`. Events come from the loop. `background` goes after this.
  RankStarter(Loop& loop, Background& background, std::optional<rlimit> open_files,
              std::shared_ptr<FileCalls> calls, Events events);

  /// Adds the ranks that are started from now on to this record, and starts them in its cgroup.
  void record_with(std::shared_ptr<AgentRecorder> recorder);
  void start(int rank);
  /// Those that wait for their turn are not started, and not heard of, any more.
  void forget_waiting();
  /// Ranks are being started: processes of theirs may be there already, and are nobody else's to
  /// collect. So it is while the cgroup is tried out.
  bool is_starting() const { return is_working_; }
  /// Tells of the ranks that were started so far, while another one hangs.
  void tell();

 private:
  struct Spawning;
  struct Piece;
  void next();
  void ended();

  Loop& loop_;
  Events events_;
  const std::shared_ptr<Spawning> spawning_;
  std::deque<int> waiting_;
  std::shared_ptr<Piece> piece_;  ///< that is being started
  bool is_working_ = false;
  Background& background_;
};

}  // namespace train
