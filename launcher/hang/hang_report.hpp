// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launcher/plan/plan.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/wire/rank_state.hpp"

namespace train {

/// Ranks that do the same.
struct HangGroup {
  std::vector<int> ranks;           ///< ascending
  std::string what;                 ///< "python3 waits in futex_wait_queue"
  std::vector<std::string> frames;  ///< of Python's main thread, the innermost first; may be empty
  bool is_known = true;             ///< their hosts have said what they do
  bool is_stuck = false;            ///< stopped, traced, ended or waiting for a device
  bool is_odd = false;              ///< the others may wait for these

  bool operator==(const HangGroup&) const = default;
};

/// What the ranks of a trial do that hangs.
struct HangReport {
  milliseconds silence{0};        ///< how long nothing had come
  std::vector<HangGroup> groups;  ///< the largest first
  /// Everything that was collected, by rank.
  std::map<int, RankState> states;
};

/// Groups these ranks, which are all that have not ended. `states`: ranks that are missing are not
/// known, and never odd. Odd are ranks that are not in a collective of torch, if others are; else
/// those that do something else than more than half of all; and those that are stuck, unless all
/// groups would be odd.
HangReport hang_report(milliseconds silence, const std::vector<int>& ranks,
                       std::map<int, RankState> states);

/// "rank 3 on node02, unlike the others: python3 waits in pipe_read".
std::string line_of(const HangGroup& group, const Trial& trial);

/// The report for a person: a screen at most.
std::vector<std::string> lines_of(const HangReport& report, const Trial& trial);

/// All that was collected, for a file: lines that are safe for a terminal, 16 MiB of them at most.
std::string text_of(const HangReport& report, const Trial& trial);

}  // namespace train
