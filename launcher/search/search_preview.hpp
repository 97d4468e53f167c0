// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config_schema/search/search_config.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/hyperparameters/varied_values.hpp"
#include "launcher/search/brackets.hpp"
#include "launcher/search/trial_sampler.hpp"

namespace train {

/// What can be said of a search before it runs.
struct SearchPreview {
  /// Trials that are compared with one another.
  struct Group {
    std::vector<double> rungs;           ///< units of training to reach each, the lowest first
    std::optional<std::int64_t> trials;  ///< in all; nothing: more are drawn than are looked at
    std::int64_t at_once = 0;

    bool operator==(const Group&) const = default;
  };
  struct First {
    TrialSample sample;
    std::vector<VariedValue> varied;

    bool operator==(const First&) const = default;
  };

  std::vector<Group> brackets;       ///< those with the most rungs first; none: nothing is compared
  std::vector<LengthCount> lengths;  ///< the shortest first; none: it cannot be foretold
  std::int64_t trials = 1;           ///< in all, if none is invalid
  std::int64_t at_once = 1;          ///< of them, at most
  std::vector<First> first;          ///< of the trials that are made first, by number, never none
  std::string method;                ///< "random", "adaptive_asha", "tune", ...
  std::string unit;                  ///< of lengths: the time metric; empty: "steps"
  std::uint32_t seed = 0;            ///< `experiment_seed`, of all that is drawn
  std::optional<std::chrono::milliseconds> time_budget = {};  ///< of all trials together

  bool operator==(const SearchPreview&) const = default;
};

/// So many trials are shown in a preview.
inline constexpr std::int64_t previewed_trials = 5;

/// What `Search` will make of it. Class `config` where settings or space do not make sense.
Result<SearchPreview> preview_search(const SearchConfig& config);

}  // namespace train
