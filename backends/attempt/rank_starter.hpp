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

/// Starts ranks on a thread beside the loop, one after the other and a few at a time, because a
/// working directory or a program may be on a file system that does not answer. The thread is that
/// of `background`.
class RankStarter {
 public:
  struct Events {
    std::function<RankCommand(int rank)> command_of;
    std::function<void(int rank, const SpawnedProcess& process)> on_started;
    std::function<void(int rank, const Error& why)> on_failed;
    std::function<void()> on_idle;  ///< nothing is being started any more, for now
  };

  /// What ranks get besides what they are told.
  struct Gifts {
    int trial = 0;                     ///< whose they are
    std::optional<rlimit> open_files;  ///< their limit of descriptors
    std::string tools;                 ///< the folder of `ReportTools`
  };

  /// `start` makes the ranks. Calls to file systems are noted in `calls`. Events come from the
  /// loop. Nothing is to be started once `background` is gone.
  RankStarter(Loop& loop, Background& background, Gifts gifts, std::shared_ptr<FileCalls> calls,
              StartChild start, Events events);

  /// From now on ranks are added to this record when they start, and start in this cgroup, if there
  /// is one.
  void record_with(std::shared_ptr<AgentRecorder> recorder, Descriptor cgroup);
  void start(int rank);
  /// The ranks that wait for their turn are not started any more, and no event comes for them.
  void forget_waiting();
  /// Whether ranks are being started, or their cgroup is being tried out.
  bool is_starting() const { return is_working_; }
  /// Brings the events of the ranks that were started so far, although another one hangs.
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
