// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "config_schema/search/search_settings.hpp"

namespace train {

/// Trials that are compared with each other: Determined's asynchronous halving.
struct Bracket {
  std::vector<std::int64_t> rungs;  ///< units that a trial needs to reach each rung, lowest first
  std::int64_t trials = 0;          ///< total number, without invalid ones
  std::int64_t at_once = 0;         ///< may be more than `trials`

  bool operator==(const Bracket&) const = default;
};

/// The units that a trial needs to reach each of `rungs` rungs: the length divided by divisor^0 at
/// the top, by divisor^1 below, and so on, truncated to whole units, at least 1.
std::vector<std::int64_t> rung_needs(int rungs, double divisor, std::int64_t length);

/// The maximum number of rungs of adaptive_asha's brackets: one more than how often the length, and
/// the number of trials, can be divided by the divisor.
int most_adaptive_rungs(const SearchSettings& settings);

/// The brackets of async_halving (one) and adaptive_asha, those with the most rungs first; empty
/// for other methods. The settings must have passed `check_settings`.
std::vector<Bracket> brackets_of(const SearchSettings& settings);

/// The number of trials that train for this many units.
struct LengthCount {
  std::int64_t units = 0;
  std::int64_t trials = 0;

  bool operator==(const LengthCount&) const = default;
};

/// The lengths of all trials if no reports tie, none fails, and in each rung exactly one of
/// `divisor` continues; the shortest first.
std::vector<LengthCount> lengths_of(const std::vector<Bracket>& brackets, double divisor);

}  // namespace train
