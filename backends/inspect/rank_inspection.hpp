// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/event_loop/background.hpp"
#include "backends/event_loop/loop.hpp"
#include "launcher/wire/rank_state.hpp"

namespace train {

/// Finds out, beside the loop, what ranks do from which nothing has come: a stuck process, or the
/// file system of its files, may not answer. Destroying it never waits, and drops the answers.
class RankInspection {
 public:
  explicit RankInspection(Loop& loop) : states_(loop), heartbeats_(loop) {}

  /// Looks at these ranks, given by the pids of their processes (`rank_states`). Calls `done` from
  /// the loop, once, with one state per rank: all with pid 0 if they could not be looked at within
  /// five seconds. Not while another look is under way.
  void look(std::map<int, int> process_of_rank, std::string stacks_directory,
            std::function<void(std::vector<RankState> ranks)> done);

  /// How long ago the newest of these files, one per rank, was last modified, by this machine's
  /// wall clock; only regular files count. Calls `done` from the loop, once: `nullopt` if none
  /// exists, or if the file system has not answered within two seconds. Not while another such look
  /// is under way.
  void look_at_heartbeats(std::map<int, std::string> file_of_rank,
                          std::function<void(std::optional<std::chrono::milliseconds> age)> done);

 private:
  /// One piece of work at a time on a thread, each with a limit.
  class Thread {
   public:
    explicit Thread(Loop& loop) : loop_(loop), background_(loop, Background::Idle::goes) {}
    /// Calls `done` from the loop, once; `is_done`: the work was done in time.
    void run(std::function<void()> work, nanoseconds limit, std::function<void(bool is_done)> done);

   private:
    void answer(int number, bool is_done);

    Loop& loop_;
    int number_ = 0;  ///< of the last piece
    std::function<void(bool)> done_;
    std::unique_ptr<Subscription> limit_;
    bool is_working_ = false;  ///< a piece has not come back yet, perhaps since long
    Background background_;
  };

  Thread states_;
  Thread heartbeats_;
};

}  // namespace train
