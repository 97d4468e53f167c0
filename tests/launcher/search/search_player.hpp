// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plays events to a search and says in one line what it does.

#include <fmt/format.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "launcher/search/search.hpp"

namespace train {

/// What an event brings about, as one line: decisions (c0: goes on at rung 0, s0: stops there,
/// stop: at Tune's max_t, ended, failed, invalid), then +n for each trial that is made, and "done".
class SearchPlayer {
 public:
  /// Whether the last process of a trial that is told to stop is gone at once, or only by `on`.
  enum class Ends { at_once, stay };

  explicit SearchPlayer(const SearchSettings& settings, const char* space = "{}",
                        Ends ends = Ends::at_once);
  SearchPlayer(const SearchSettings& settings, Ends ends) : SearchPlayer(settings, "{}", ends) {}

  std::string start() { return line(search_event::Start{}, false); }
  std::string report(std::int64_t trial, double step, double metric) {
    return line(search_event::Reported{trial, step, metric}, false);
  }
  std::string over(std::int64_t trial, TrialEnd end) {
    return line(search_event::Over{trial, end}, false);
  }
  /// With the trials that are given room (run2) or told to stop (stop0) beside.
  std::string on(const SearchEvent& event) { return line(event, true); }

  Search& search() { return search_; }
  /// The hyperparameters of a trial.
  const std::string& made(std::size_t trial) const { return made_[trial]; }

 private:
  std::string line(const SearchEvent& event, bool with_runs);

  Search search_;
  Ends ends_;
  std::vector<std::string> made_;
};

}  // namespace train
