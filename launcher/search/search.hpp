// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "config_schema/search/search_settings.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/hyperparameters/search_space.hpp"
#include "launcher/search/rungs.hpp"
#include "launcher/search/search_decision.hpp"
#include "launcher/search/trial_sampler.hpp"
#include "launcher/states/state_table.hpp"

namespace train {

/// The state of a trial of a search. `trial_states` has the allowed changes.
enum class TrialState : std::uint8_t {
  waiting,    ///< made, and runs when there is room
  running,    ///< has its room
  stopping,   ///< was told to stop, and a part of it may still run
  succeeded,  ///< has ended by itself, or was stopped because it had reached the top
  stopped,    ///< stopped early by the search
  failed,     ///< without another attempt
  invalid,    ///< its hyperparameters are not usable
  killed,     ///< by the user
};
inline constexpr std::size_t trial_state_count = 8;
const StateTable<TrialState>& trial_states();

/// How the last process of a trial ended.
enum class TrialEnd {
  by_itself,
  failed,   ///< and is not restarted
  invalid,  ///< with the exit code for this
};

/// Inputs of a search.
namespace search_event {
/// The first trials may be made. Once, before all other events.
struct Start {};
/// A running trial has reported a step and the metric, as in `TrialReport`.
struct Reported {
  std::int64_t trial = 0;
  double step = 0;
  double metric = 0;
};
/// A running trial has reported that its hyperparameters are not usable.
struct SaidInvalid {
  std::int64_t trial = 0;
};
/// The user has requested the end of this trial.
struct Killed {
  std::int64_t trial = 0;
};
/// The last process of a trial has ended, and the trial will not be restarted. How it ended matters
/// only if it was not told to stop before.
struct Over {
  std::int64_t trial = 0;
  TrialEnd end = TrialEnd::by_itself;
};
/// The time of the search has passed, or the user has requested its end: no more trials are made,
/// and running ones are told to stop.
struct CutShort {};
}  // namespace search_event

using SearchEvent =
    std::variant<search_event::Start, search_event::Reported, search_event::SaidInvalid,
                 search_event::Killed, search_event::Over, search_event::CutShort>;

/// Outputs of a search, in order.
namespace search_action {
/// Make a new trial: numbers count up from 0. It must not run before Run.
struct Make {
  std::int64_t trial = 0;
  int bracket = 0;  ///< from 0
  std::string hyperparameters_json;
  std::uint32_t seed = 0;
};
/// There is room for this trial: start it as soon as its slots are free.
struct Run {
  std::int64_t trial = 0;
};
/// End this trial.
struct Stop {
  std::int64_t trial = 0;
};
/// Every trial has ended, and no more will be made. Once.
struct Done {};
}  // namespace search_action

using SearchAction =
    std::variant<search_action::Make, search_action::Run, search_action::Stop, search_action::Done>;

/// A report, or the best one of several.
struct BestReport {
  std::int64_t trial = 0;
  double step = 0;
  double metric = 0;

  bool operator==(const BestReport&) const = default;
};

/// Decides which trials a search has, their samples and when they stop: events in, actions out. The
/// same events give the same actions and the same state.
///
/// Methods are those of Determined (0.38) and of Ray Tune (2.x). A trial that is stopped or ends
/// makes room for another one: that one is made, with its number and its sample, at the decision,
/// but runs once the last process of the other has ended, so that the number of running trials
/// never exceeds that at the start. Trials run in the order in which they were made.
///
/// An impossible event (about a trial that does not run, or that was told to stop) changes nothing,
/// except that an end frees room.
class Search {
 public:
  /// Without a limit, this many trials of random, grid and tune are made and given room at first,
  /// and no launcher runs more: the others follow as these end. The trials are the same in any
  /// case.
  static constexpr std::int64_t most_without_limit = 10'000;
  /// The maximum of any limit. A halving search that would begin with more is refused.
  static constexpr std::int64_t most_at_once = 100'000;
  /// When this many trials are invalid and nothing else was decided, invalid ones are no longer
  /// replaced: a search in which every trial is invalid would never end (Determined's does not).
  static constexpr std::size_t most_invalid = 100;

  /// Class `config` if settings or space are invalid (`check_settings`, `TrialSampler`).
  static Result<Search> make(const SearchSpace& space, const SearchSettings& settings);

  /// Handles one event; the actions must be carried out in order.
  std::vector<SearchAction> on(const SearchEvent& event);

  /// Whether every trial has ended, and no more will be made.
  bool is_done() const { return is_done_; }
  std::int64_t trials() const { return static_cast<std::int64_t>(trials_.size()); }
  TrialState state(std::int64_t trial) const { return at(trial).state; }
  int bracket(std::int64_t trial) const { return at(trial).bracket; }
  /// The number of trials in this state.
  std::int64_t count(TrialState state) const { return counts_[static_cast<std::size_t>(state)]; }
  /// How many trials may run at once.
  std::int64_t room() const { return room_; }
  /// All decisions, oldest first.
  std::vector<SearchDecision> decisions() const;
  /// The decisions from index `first` on.
  std::vector<SearchDecision> decisions_from(std::size_t first) const;
  std::size_t decision_count() const { return decisions_.size(); }
  /// The best of a trial's reports that counted: excludes NaN, and reports after it was told to
  /// stop. Of equal ones, the earlier.
  std::optional<BestReport> best(std::int64_t trial) const;
  /// The best report of all trials except invalid ones; of equal ones, that of the lower trial
  /// number.
  std::optional<BestReport> best() const;
  /// The metrics recorded in a rung of a bracket: for halving in the order of the ranks, negated if
  /// larger is better; for Tune ascending, negated if smaller is better.
  std::vector<double> recorded(int bracket, int rung) const;

  /// The complete state: two searches that may act differently have different snapshots. With the
  /// same space and settings, `restored` continues from it; class `no_input` if the snapshot does
  /// not belong to them.
  nlohmann::json snapshot() const;
  static Result<Search> restored(const SearchSpace& space, const SearchSettings& settings,
                                 const nlohmann::json& snapshot);
  /// The search that has made these decisions: the same trials, brackets and rungs. Each trial that
  /// was told to stop counts as ended, each killed one as failed. Class `no_input` if these are not
  /// decisions of such a search.
  static Result<Search> replayed(const SearchSpace& space, const SearchSettings& settings,
                                 const std::vector<SearchDecision>& decisions);

  /// The same search while its trials run. `present` are the trials that were given room and have
  /// not ended, as far as the search knows: one of these that was told to stop has not stopped yet.
  /// Continues with Start.
  static Result<Search> resumed(const SearchSpace& space, const SearchSettings& settings,
                                const std::vector<SearchDecision>& decisions,
                                const std::set<std::int64_t>& present);
  /// Records that the user ended this trial, which counts as failed.
  void note_killed(std::int64_t trial);
  /// Restores the best report of a trial that had ended before this search was resumed.
  void recall(const BestReport& best);

 private:
  /// Trials that are counted together: those of one of Determined's brackets, or all.
  struct Pool {
    std::int64_t trials = 0;    ///< total number to make
    std::int64_t at_start = 0;  ///< of those, made at the start
    std::int64_t made = 0;      ///< without invalid ones that are replaced
  };
  struct Trial {
    TrialState state = TrialState::waiting;
    TrialState after_stop = TrialState::stopped;  ///< the state after `stopping`
    bool has_best = false;
    int bracket = 0;
    EnteredRungs entered = 0;
    std::int64_t last_decision = -1;  ///< index in `decisions_`; -1: none
    double best_step = 0;
    double best_metric = 0;
  };
  struct LinkedDecision {
    SearchDecision decision;
    std::int64_t before = -1;  ///< index of the same trial's previous one, or -1
  };
  using Rungs = std::variant<HalvingRungs, TuneRungs>;

  Search(TrialSampler sampler, const SearchSettings& settings);

  void handle(const search_event::Start& event);
  void handle(const search_event::Reported& event);
  void handle(const search_event::SaidInvalid& event);
  void handle(const search_event::Killed& event);
  void handle(const search_event::Over& event);
  void handle(const search_event::CutShort& event);

  Result<void> set_up_pools();
  Trial& at(std::int64_t trial) { return trials_[static_cast<std::size_t>(trial)]; }
  const Trial& at(std::int64_t trial) const { return trials_[static_cast<std::size_t>(trial)]; }
  bool runs(std::int64_t trial) const;
  std::size_t pool_of(const Trial& trial) const;
  void enter(std::int64_t trial, TrialState state);
  void make_in(std::size_t pool);
  void make_next_of(std::int64_t trial);
  void stop(std::int64_t trial, TrialState after);
  void record(const SearchDecision& decision);
  void note_best(Trial& trial, double step, double metric) const;
  /// The metric for the order of its rungs: Tune ranks larger ones first.
  double rank_metric(double metric) const;
  void count_failure(std::int64_t trial);
  void count_invalid(std::int64_t trial);
  void use_room();
  void repeat(const SearchDecision& decision);
  bool restore(const nlohmann::json& snapshot);
  bool restore_trials(const nlohmann::json& list);
  bool restore_decisions(const nlohmann::json& list);
  bool restore_rungs(const nlohmann::json& list);

  SearchSettings settings_;
  TrialSampler sampler_;
  std::vector<Pool> pools_;
  std::vector<Rungs> brackets_;  ///< empty if nothing is stopped early
  bool replaces_invalid_ = true;
  std::size_t invalid_ = 0;  ///< number of invalid trials

  std::vector<Trial> trials_;
  std::vector<LinkedDecision> decisions_;
  std::array<std::int64_t, trial_state_count> counts_{};  ///< by state
  std::int64_t room_ = 0;
  std::int64_t next_to_run_ = 0;  ///< all earlier trials have left `waiting`
  bool is_started_ = false;
  bool is_cut_short_ = false;
  bool is_done_ = false;
  std::vector<SearchAction> actions_;
};

}  // namespace train
