// SPDX-License-Identifier: Apache-2.0
#pragma once
// Searches written straight from their description, with lists that are walked from end to end:
// what the real ones are compared with. Nothing is shared with them but the random numbers and the
// words of settings and events.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "config_schema/search/search_settings.hpp"
#include "launcher/hyperparameters/search_random.hpp"
#include "launcher/search/search.hpp"

namespace train::naive {

/// What a decision or an action is called in the lines that are compared.
std::string line_of(const SearchDecision& decision);
std::string line_of(const SearchAction& action);

class Search {
 public:
  /// `space`: the text of a JSON object.
  Search(std::string space, const SearchSettings& settings);

  /// The lines of all decisions of the event, and then of all actions.
  std::vector<std::string> on(const SearchEvent& event);
  bool is_done() const { return is_done_; }
  std::int64_t runs_at_most() const { return room_; }
  /// Of these trials so many are to be made in all, if none is invalid.
  std::int64_t wanted() const;
  std::string state(std::size_t trial) const { return trials_[trial].state; }
  /// Sorted as the bracket sorts them.
  std::vector<double> recorded(std::size_t bracket, std::size_t rung) const;

 private:
  struct Trial {
    std::string state = "waiting";
    std::string later;  ///< the state after "stopping"
    std::size_t bracket = 0;
    std::size_t rung = 0;  ///< that it is heading for
  };
  using Entry = std::pair<std::size_t, double>;  ///< trial, metric
  struct Bracket {
    std::vector<double> needs;
    std::vector<std::vector<Entry>> rungs;  ///< by rung
    std::int64_t trials = 0;
    std::int64_t at_start = 0;
  };

  void set_up_halving();
  void set_up_tune();
  bool is(std::int64_t trial, const char* state) const;
  std::int64_t made_in(std::size_t bracket) const;
  void make(std::size_t bracket);
  void make_next(std::size_t trial);
  void report(std::size_t trial, double step, double metric);
  void report_to_halving(std::size_t trial, double step, double metric);
  void report_to_tune(std::size_t trial, double step, double metric);
  void decide(std::size_t trial, bool stops, int rung, double step, double metric, bool completes);
  void end(std::size_t trial, const char* word);
  void stop(std::size_t trial, const char* later);
  void fill();

  std::string space_;
  SearchSettings settings_;
  SearchRandom random_;
  std::vector<Bracket> brackets_;
  std::vector<Trial> trials_;
  std::int64_t room_ = 0;
  bool is_started_ = false;
  bool is_over_ = false;
  bool is_done_ = false;
  std::vector<std::string> decisions_;
  std::vector<std::string> actions_;
};

}  // namespace train::naive
