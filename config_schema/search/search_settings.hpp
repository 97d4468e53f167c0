// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// How trials are chosen and stopped: Determined's searchers by their names, and Ray Tune's
/// samples.
enum class SearchMethod { single, random, grid, async_halving, adaptive_asha, tune };
/// The searcher's name: "random".
std::string_view to_string(SearchMethod method);
/// Nothing: a searcher of Determined's that train does not know, or no searcher's name.
std::optional<SearchMethod> searcher_method(std::string_view name);

/// How early adaptive_asha stops poor trials.
enum class AdaptiveMode { aggressive, standard, conservative };

/// Ray Tune's `scheduler: {type: asha}`. Time is the step of the reports.
struct TuneAshaSettings {
  double max_t = 100;
  double grace_period = 1;
  double reduction_factor = 4;
  int brackets = 1;

  bool operator==(const TuneAshaSettings&) const = default;
};

/// The settings of a search, with the names and defaults of Determined's and Tune's files.
struct SearchSettings {
  SearchMethod method = SearchMethod::single;
  std::uint32_t seed = 0;  ///< `experiment_seed`
  bool smaller_is_better = true;
  std::int64_t max_trials = 1;  ///< for random and the halving methods
  /// 0: as many as fit. Nothing: 16, or for Tune as many as fit.
  std::optional<std::int64_t> max_concurrent_trials = {};

  std::int64_t length = 0;  ///< for the halving methods: the length of a trial at the top rung
  double divisor = 4;
  int num_rungs = 0;  ///< for async_halving
  int max_rungs = 5;  ///< for adaptive_asha, with `mode`, or else
  AdaptiveMode mode = AdaptiveMode::standard;
  std::vector<int> bracket_rungs = {};  ///< the rungs of each bracket

  std::int64_t num_samples = 1;                    ///< for Tune: how often its grid is repeated
  std::optional<TuneAshaSettings> tune_asha = {};  ///< for Tune

  bool halves() const {
    return method == SearchMethod::async_halving || method == SearchMethod::adaptive_asha;
  }
  std::int64_t most_at_once() const {
    return max_concurrent_trials.value_or(method == SearchMethod::tune ? 0 : 16);
  }
  bool operator==(const SearchSettings&) const = default;
};

/// The maximum number of rungs of a bracket, and of brackets of a search.
inline constexpr int most_rungs_or_brackets = 1000;

/// Class `config` if a number is invalid for its method.
Result<void> check_settings(const SearchSettings& settings);

}  // namespace train
