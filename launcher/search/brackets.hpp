// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "config_schema/search/search_settings.hpp"

namespace train {

/// Trials that are compared with one another: Determined's asynchronous halving.
struct Bracket {
  std::vector<std::int64_t> rungs;  ///< what a trial needs to reach each, in units, lowest first
  std::int64_t trials = 0;          ///< so many in all, without invalid ones
  std::int64_t at_once = 0;         ///< may be more than `trials`

  bool operator==(const Bracket&) const = default;
};

/// What a trial needs to reach each of `rungs` rungs: the length divided by divisor^0 at the top,
/// by divisor^1 below, and so on, cut to whole units, and 1 at least.
std::vector<std::int64_t> rung_needs(int rungs, double divisor, std::int64_t length);

/// How many rungs adaptive_asha's brackets have at most: one more than the length, and than the
/// number of trials, can be divided by the divisor.
int most_adaptive_rungs(const SearchSettings& settings);

/// The brackets of async_halving (one) and adaptive_asha, those with the most rungs first; none for
/// other methods. The settings have passed `check_settings`.
std::vector<Bracket> brackets_of(const SearchSettings& settings);

/// How many trials train for so many units.
struct LengthCount {
  std::int64_t units = 0;
  std::int64_t trials = 0;

  bool operator==(const LengthCount&) const = default;
};

/// What becomes of all trials when no reports tie, none fails, and in each rung exactly one of
/// `divisor` goes on; the shortest first.
std::vector<LengthCount> lengths_of(const std::vector<Bracket>& brackets, double divisor);

}  // namespace train
