// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// A search's decision about a trial, or its classification of an end.
enum class SearchVerdict {
  go_on,    ///< "continue": a report has entered a rung, and the trial continues
  stop,     ///< a report has entered a rung, and the trial must stop
  ended,    ///< the trial ended by itself without having been told to stop
  failed,   ///< without another attempt, or killed by the user
  invalid,  ///< its hyperparameters are not usable
};
std::string_view to_string(SearchVerdict verdict);

/// One entry of `search.decisions[]`: a report that entered a rung, or an end. The list alone
/// determines the state of a search: see `Search::replayed`.
struct SearchDecision {
  std::int64_t trial = 0;
  SearchVerdict verdict = SearchVerdict::go_on;
  std::optional<int> rung = {};  ///< from 0 in its bracket; nothing for ends, and at Tune's max_t
  double step = 0;               ///< as reported; 0 for ends
  double metric = 0;             ///< as reported; 0 for ends

  bool is_end() const { return verdict != SearchVerdict::go_on && verdict != SearchVerdict::stop; }
};
/// Equality in which NaN equals NaN.
bool operator==(const SearchDecision& a, const SearchDecision& b);

/// "trial 3 is to stop at rung 0, with 0.5 at step 10".
std::string describe(const SearchDecision& decision);

/// `{"trial": 0, "decision": "continue", "step": 10, "rung": 0, "metric": 0.5}`; step, rung and
/// metric are null for ends, a metric is also null if it was NaN.
nlohmann::json json_of(const SearchDecision& decision);
/// Class `no_input` if it is not a decision.
Result<SearchDecision> decision_of_json(const nlohmann::json& value);

}  // namespace train
