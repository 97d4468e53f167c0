// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// What a search has decided about a trial, or what it takes an end for.
enum class SearchVerdict {
  go_on,    ///< "continue": a report has entered a rung, and the trial goes on
  stop,     ///< the same, and the trial is to stop
  ended,    ///< the trial ended by itself without having been told to stop
  failed,   ///< for good, or the user has killed it
  invalid,  ///< its hyperparameters make no sense
};
std::string_view to_string(SearchVerdict verdict);

/// One entry of `search.decisions[]`: a rung that a report has entered, or an end. The list alone
/// says what a search has decided: see `Search::replayed`.
struct SearchDecision {
  std::int64_t trial = 0;
  SearchVerdict verdict = SearchVerdict::go_on;
  std::optional<int> rung = {};  ///< from 0 in its bracket; nothing for ends, and at Tune's max_t
  double step = 0;               ///< as reported; 0 for ends
  double metric = 0;             ///< as reported; 0 for ends

  bool is_end() const { return verdict != SearchVerdict::go_on && verdict != SearchVerdict::stop; }
};
/// The same decision: NaN is the same as NaN.
bool operator==(const SearchDecision& a, const SearchDecision& b);

/// "trial 3 is to stop at rung 0, with 0.5 at step 10".
std::string describe(const SearchDecision& decision);

/// `{"trial": 0, "decision": "continue", "step": 10, "rung": 0, "metric": 0.5}`; step, rung and
/// metric are null for ends, a metric is also null when it was NaN.
nlohmann::json json_of(const SearchDecision& decision);
/// Class `no_input` where it is none.
Result<SearchDecision> decision_of_json(const nlohmann::json& value);

}  // namespace train
