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

/// Starts ranks on the thread of `background`, beside the loop, one after the other in pieces of a
/// few ranks, because a working directory or a program may be on a file system that does not
/// answer.
class RankStarter {
 public:
  struct Events {
    std::function<RankCommand(int rank)> command_of;
    std::function<void(int rank, const SpawnedProcess& process)> on_started;
    std::function<void(int rank, const Error& why)> on_failed;
    std::function<void()> on_idle;  ///< no rank is being started or waits for it
  };

  /// Properties of the ranks that are not in their RankCommand.
  struct Gifts {
    int trial = 0;                     ///< to which they belong
    std::optional<rlimit> open_files;  ///< their limit of open files
    std::string tools;                 ///< the folder of `ReportTools`
  };

  /// `start` starts the processes. Calls to file systems are noted in `calls`. Events are called
  /// from the loop. Do not start ranks once `background` is gone.
  RankStarter(Loop& loop, Background& background, Gifts gifts, std::shared_ptr<FileCalls> calls,
              StartChild start, Events events);

  /// From now on ranks are added to this record when they start, and start in this cgroup, if it is
  /// valid.
  void record_with(std::shared_ptr<AgentRecorder> recorder, Descriptor cgroup);
  void start(int rank);
  /// Drops the ranks that wait for their turn: they are not started, and no event comes for them.
  void forget_waiting();
  /// Whether ranks are being started, or their cgroup is being tried out.
  bool is_starting() const { return is_working_; }
  /// Delivers the events of the ranks that were started so far, even if the start of another hangs.
  void report();

 private:
  struct Spawning;
  struct Piece;
  void next();
  void ended();

  Loop& loop_;
  Events events_;
  const std::shared_ptr<Spawning> spawning_;
  std::deque<int> waiting_;
  std::shared_ptr<Piece> piece_;  ///< being started now
  bool is_working_ = false;
  Background& background_;
};

}  // namespace train
