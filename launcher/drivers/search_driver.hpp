// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "launcher/capacity/occupancy.hpp"
#include "launcher/drivers/search_hosts.hpp"
#include "launcher/drivers/task_driver.hpp"
#include "launcher/journal/search_record.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/ports/timers.hpp"
#include "launcher/search/search.hpp"

namespace train {

/// What an earlier supervisor of a search has left.
struct SearchLeft {
  const Replay& replay;        ///< of the journal of the task
  const SearchRecord& record;  ///< the same for people, with the reports of the trials
};

/// The inputs of a search. All references must outlive the driver.
struct SearchWork {
  const ExperimentConfig& experiment;  ///< as it was read, with `search_config`
  const HostInventory& inventory;
  /// All hosts of the inventory: those of the first trial first, in the order of the task.
  const std::vector<Host>& hosts;
  /// The plan of the first trial, with which the task begins.
  const Plan& first;
  Occupancy held = {};     ///< by other tasks, when the task was placed
  bool is_strict = false;  ///< one failed trial makes the search fail
};

/// Runs a search over the driver of a task: places its trials on free slots of the hosts, begins
/// them when there is room, and stops those that the search gives up. Decisions are recorded before
/// they are carried out.
///
/// A host that has failed a trial is excluded for a time, and slots that other tasks turn out to
/// hold are avoided for a time. If that happens to a trial before its ranks were told to start, the
/// trial is begun again as its next attempt, which does not count as a restart. If no trial runs
/// and no host is left, the search ends.
class SearchDriver {
 public:
  /// Hooks are called from inside calls to the drivers or the ports.
  struct Hooks {
    std::function<void(const search_action::Make& trial)> on_made = [](const search_action::Make&) {
    };
    /// The hooks of a trial that is about to begin; the driver handles its reports first.
    std::function<TaskHooks(const Plan& plan)> hooks_of = [](const Plan&) { return TaskHooks(); };
    /// A trial that was begun has ended, and the search knows. Comes before the end of the task.
    std::function<void(int trial, const RunOutcome& outcome)> on_trial_over =
        [](int, const RunOutcome&) {};
    /// A host has failed a trial: no trial is placed on it for this time.
    std::function<void(const std::string& host, const Error& why, milliseconds pause)> on_left_out =
        [](const std::string&, const Error&, milliseconds) {};
    /// Other tasks hold slots that this trial was to have: it waits for slots again.
    std::function<void(int trial, const Error& why)> on_held = [](int, const Error&) {};
    /// This trial has reported the metric of the search without the step of its training. Called
    /// once: such reports decide nothing.
    std::function<void(int trial)> on_report_without_step = [](int) {};
  };

  /// Class `config` as from `Search::make`; class `no_input` if what the earlier supervisor has
  /// left does not belong to this search.
  static Result<std::unique_ptr<SearchDriver>> make(SearchWork work, Timers& timers, Hooks hooks,
                                                    const SearchLeft* left = nullptr);
  SearchDriver(const SearchDriver&) = delete;
  SearchDriver& operator=(const SearchDriver&) = delete;

  /// The hooks of the task, whose first trial is the search's: `hooks`, extended by what the search
  /// needs to hear.
  TaskHooks hooks_of_task(TaskHooks hooks);
  /// Begins the search and with it the task, or resumes both. The driver must have the hooks of
  /// `hooks_of_task`, and ends before this object.
  void start(TaskDriver& driver);
  /// As `TaskDriver::stop`; no further trial begins.
  void stop(int signal);
  /// The user ends this trial; the search goes on. False if there is no such trial, or it has
  /// ended.
  bool kill_trial(std::int64_t trial);

  const Search& search() const { return search_; }
  /// How the search has ended as a whole. It has succeeded if any trial has succeeded or was
  /// stopped by the search, and, if it is strict, no trial has failed. Without ranks: those belong
  /// to the trials.
  RunOutcome outcome() const;
  /// The user has stopped it, or the task's time is over.
  bool is_stopped() const { return stop_signal_.has_value(); }
  /// Other tasks hold slots of the first trials, and none has started: the search has ended for
  /// that.
  bool is_refused() const { return is_refused_; }
  /// Number of trials that were begun and have not ended.
  std::size_t running() const { return running_.size(); }

 private:
  struct Sample {
    std::string hyperparameters_json;
    std::uint32_t seed = 0;
    int first_attempt = 0;  ///< if it was begun before: the next number
    bool is_moved = false;  ///< it was begun elsewhere, and goes on with its next attempt
  };
  struct Running {
    Quantity slots;
    Occupancy uses;  ///< by node rank
    std::int64_t reports = 0;
    bool has_started = false;
  };
  /// The reaction of the search to one event.
  struct Step {
    std::vector<SearchAction> actions;
    bool is_written = false;  ///< its decisions are recorded
  };

  SearchDriver(SearchWork work, Timers& timers, Search search, Hooks hooks);

  // Resuming after another supervisor.
  Result<void> take_over(const SearchLeft& left);
  Result<std::shared_ptr<const Plan>> plan_left(int trial, const TrialReplay& replay) const;
  void resume(const Replay& replay);
  std::vector<TaskDriver::ResumedTrial> resumed_trials(const Replay& replay);
  void repeat_end(int trial, const TrialReplay& replay);

  void happened(const SearchEvent& event);
  void act();
  void perform(const search_action::Make& action);
  void perform(const search_action::Run& action);
  void perform(const search_action::Stop& action);
  void perform(const search_action::Done& action);
  void wait_for_room(std::int64_t trial);
  void place_waiting();
  bool begin(std::int64_t number);
  Plan plan_of(std::int64_t trial) const;
  TrialWork work_of(const std::shared_ptr<const Plan>& plan, int first_attempt) const;
  void limit_time(nanoseconds since);
  std::optional<milliseconds> budget() const;
  void end_budget();
  bool has_no_metric() const { return work_.experiment.search_config->metric.empty(); }
  TaskHooks with_reports(TaskHooks hooks, int trial);
  void reported(int trial, const std::string& json);
  void started(int trial);
  void trial_over(int trial, const RunOutcome& outcome);
  bool pass_over(int trial, const Running& was, const RunOutcome& outcome);
  bool leave_out(const Running& was, const Failure& failure);
  bool begin_again(int trial, const Running& was, const RunOutcome& outcome);
  void await_hosts();
  void end_without_hosts();
  void task_over();
  void take(const Plan& plan);
  bool has_any_succeeded() const;
  bool has_succeeded() const;
  bool is_unreported() const { return is_budget_spent_ && !has_reported_; }
  Failure late_failure() const;
  std::string failure_words(const Failure& cause) const;

  SearchWork work_;
  Timers& timers_;
  Search search_;
  Hooks hooks_;
  TaskDriver* driver_ = nullptr;
  std::map<std::string, int> host_indices_;  ///< host numbers by name
  std::size_t decided_ = 0;                  ///< number of decisions recorded, or being recorded
  std::deque<Step> steps_;
  std::size_t acted_ = 0;  ///< number of steps before those
  bool is_acting_ = false;
  std::map<std::int64_t, Sample> made_;                   ///< samples of trials that have not ended
  std::map<int, std::shared_ptr<const Plan>> left_;       ///< plans of trials to resume
  std::map<int, std::vector<std::string>> left_reports_;  ///< their reports
  std::deque<std::int64_t> waiting_;                      ///< trials that wait for slots; ascending
  std::map<int, Running> running_;
  SearchHosts hosts_;
  Occupancy held_;                        ///< by other tasks for good, then by running trials
  Quantity used_slots_;                   ///< by running trials
  std::optional<int> stop_signal_;        ///< the user's, or `runtime_over`
  std::optional<Failure> first_failure_;  ///< of any trial
  std::optional<Failure> first_failed_;   ///< of the trials that count as failed
  std::optional<Error> last_trouble_;     ///< the last failure of an excluded host
  std::optional<Failure> no_host_;        ///< set: the search has ended since no host is left
  std::unique_ptr<Subscription> time_limit_;
  std::unique_ptr<Subscription> next_try_;  ///< when avoided hosts or slots are tried again
  bool has_started_ = false;
  bool is_refused_ = false;
  bool has_reported_ = false;
  bool is_without_step_ = false;  ///< a report without a step came, and was reported
  bool is_budget_spent_ = false;  ///< running trials were cut short for that
};

/// How a trial has ended, judged by its last attempt.
TrialEnd end_of_trial(const AttemptEnd& last);

/// Trials that had not ended as far as the search knew when it made these decisions.
std::set<std::int64_t> present_trials(const Replay& replay);

}  // namespace train
