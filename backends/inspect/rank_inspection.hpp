// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/event_loop/limited_work.hpp"
#include "launcher/wire/rank_state.hpp"

namespace train {

/// Finds out, beside the loop, what ranks do from which nothing has come: a stuck process, or the
/// file system of its files, may not answer. Destroying it never waits, and drops the answers.
class RankInspection {
 public:
  explicit RankInspection(Loop& loop)
      : states_(loop, Background::Idle::goes, LimitedWork::BehindLate::is_dropped),
        heartbeats_(loop, Background::Idle::goes, LimitedWork::BehindLate::is_dropped) {}

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
  LimitedWork states_;
  LimitedWork heartbeats_;
};

}  // namespace train
