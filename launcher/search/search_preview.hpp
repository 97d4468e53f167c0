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

/// What is known about a search before it runs.
struct SearchPreview {
  /// Trials that are compared with each other.
  struct Group {
    std::vector<double> rungs;  ///< units of training to reach each, lowest first
    /// Total; nothing: more trials are sampled than are counted.
    std::optional<std::int64_t> trials;
    std::int64_t at_once = 0;

    bool operator==(const Group&) const = default;
  };
  struct First {
    TrialSample sample;
    std::vector<VariedValue> varied;

    bool operator==(const First&) const = default;
  };

  std::vector<Group> brackets;  ///< those with the most rungs first; empty: no trials are compared
  std::vector<LengthCount> lengths;  ///< the shortest first; empty: unknown in advance
  std::int64_t trials = 1;           ///< total, if none is invalid
  std::int64_t at_once = 1;          ///< maximum of those that run at once
  std::vector<First> first;          ///< the first trials to be made, by number; never empty
  std::string method;                ///< "random", "adaptive_asha", "tune", ...
  std::string unit;                  ///< of lengths: the time metric; empty: "steps"
  std::uint32_t seed = 0;            ///< `experiment_seed`, for all samples
  std::optional<std::chrono::milliseconds> time_budget = {};  ///< for all trials together

  bool operator==(const SearchPreview&) const = default;
};

/// The number of trials in a preview.
inline constexpr std::int64_t previewed_trials = 5;

/// The expected course of the `Search`. Class `config` if settings or space are invalid.
Result<SearchPreview> preview_search(const SearchConfig& config);

}  // namespace train
