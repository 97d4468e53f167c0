// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config_schema/search/search_config.hpp"
#include "launcher/hyperparameters/varied_values.hpp"
#include "launcher/record/task_record.hpp"
#include "launcher/search/search.hpp"

namespace train {

/// One row of a table of trials.
struct TrialRow {
  std::int64_t trial = 0;
  TrialState state = TrialState::waiting;
  std::vector<std::string> hosts = {};  ///< empty: it has not begun
  std::optional<UnixMillis> lasted = {};
  std::optional<double> step = {};  ///< of its last report
  std::optional<double> best = {};  ///< best value of the metric
  std::vector<VariedValue> varied = {};
};

/// Trials as a table with a heading, one row each; the best one is marked with a star.
std::string trials_to_table(const SearchConfig& config, const std::vector<TrialRow>& rows,
                            std::optional<std::int64_t> best);

/// "24 trials: 4 running, 18 succeeded, 2 failed"
std::string count_trials(const std::function<std::int64_t(TrialState)>& count_of);

}  // namespace train
