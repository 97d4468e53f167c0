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

/// What another supervisor that has ended has left of a search.
struct SearchLeft {
  const Replay& replay;        ///< of the journal of the task
  const SearchRecord& record;  ///< the same for people, with what the trials have reported
};

/// What a search runs its trials of. All that is referred to must outlive the driver.
struct SearchWork {
  const ExperimentConfig& experiment;  ///< as it was read, with `search_config`
  const HostInventory& inventory;
  /// All of the inventory: those of the first trial before all others, as the task has them.
  const std::vector<Host>& hosts;
  /// Of the first trial, which the task begins with.
  const Plan& first;
  Occupancy held = {};     ///< by others, when the task was placed
  bool is_strict = false;  ///< one trial that fails is enough for the search to fail
};

/// Carries a search out over the driver of a task: places its trials on what is free of the hosts,
/// begins them when there is room, and stops those that the search wants no more of. What is
/// decided is written down before anything of it is done.
///
/// A host that has failed a trial is left out for a time, and so is what others turn out to hold;
/// a trial to which that happened before its ranks were told to start is begun again as its next
/// attempt, which counts as no restart. Where no trial runs and no host is left, the search ends.
class SearchDriver {
 public:
  /// They come from inside of calls to the drivers, or of the ports'.
  struct Hooks {
    std::function<void(const search_action::Make& trial)> on_made = [](const search_action::Make&) {
    };
    /// What this trial has to tell, which is about to begin; its reports are looked at here first.
    std::function<TaskHooks(const Plan& plan)> hooks_of = [](const Plan&) { return TaskHooks(); };
    /// A trial that was begun has ended; the search knows of it. Before the task is over.
    std::function<void(int trial, const RunOutcome& outcome)> on_trial_over =
        [](int, const RunOutcome&) {};
    /// No trial is placed on this host for a time, since it has failed one.
    std::function<void(const std::string& host, const Error& why, milliseconds pause)> on_left_out =
        [](const std::string&, const Error&, milliseconds) {};
    /// Others hold what this trial was to have: it waits for slots again.
    std::function<void(int trial, const Error& why)> on_held = [](int, const Error&) {};
    /// This trial has reported the metric of the search, and not after how much training. Comes
    /// once: such reports decide nothing.
    std::function<void(int trial)> on_report_without_step = [](int) {};
  };

  /// Class `config` as of `Search::make`; class `no_input` where what another supervisor has left
  /// is of no such search.
  static Result<std::unique_ptr<SearchDriver>> make(SearchWork work, Timers& timers, Hooks hooks,
                                                    const SearchLeft* left = nullptr);
  SearchDriver(const SearchDriver&) = delete;
  SearchDriver& operator=(const SearchDriver&) = delete;

  /// The hooks of the task, whose first trial is the search's: `hooks` with what the search has to
  /// hear of it.
  TaskHooks hooks_of_task(TaskHooks hooks);
  /// Begins the search, and with it the task; or goes on with both. The driver has the hooks above,
  /// and ends before this.
  void start(TaskDriver& driver);
  /// As `TaskDriver::stop`: no trial begins any more.
  void stop(int signal);
  /// The user wants this trial ended; the search goes on. False when there is no such trial that
  /// could.
  bool kill_trial(std::int64_t trial);

  const Search& search() const { return search_; }
  /// How it has ended as a whole: well, where any trial has, or was stopped by the search, and,
  /// where it is strict, none has failed. Without ranks: those are the trials'.
  RunOutcome outcome() const;
  /// The user has asked for its end, or its task has had its time.
  bool is_stopped() const { return stop_signal_.has_value(); }
  /// Others hold what a trial was to have, and none has started: the search has ended with that.
  bool is_refused() const { return is_refused_; }
  /// Trials that were begun and have not ended.
  std::size_t running() const { return running_.size(); }

 private:
  struct Sample {
    std::string hyperparameters_json;
    std::uint32_t seed = 0;
    int first_attempt = 0;  ///< where it was begun before, the next
  };
  struct Running {
    Quantity slots;
    Occupancy uses;  ///< by node rank
    std::int64_t reports = 0;
    bool has_started = false;
  };
  /// What the search wants by one event.
  struct Step {
    std::vector<SearchAction> actions;
    bool is_written = false;  ///< what was decided by it is
  };

  SearchDriver(SearchWork work, Timers& timers, Search search, Hooks hooks);

  // Of what another supervisor has left.
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
  bool is_any_well() const;
  bool has_succeeded() const;
  bool is_in_vain() const { return is_budget_spent_ && !has_reported_; }
  Failure nothing_in_time() const;
  std::string failure_words(const Failure& cause) const;

  SearchWork work_;
  Timers& timers_;
  Search search_;
  Hooks hooks_;
  TaskDriver* driver_ = nullptr;
  std::map<std::string, int> host_indices_;  ///< by name
  std::size_t decided_ = 0;                  ///< decisions that are written, or about to be
  std::deque<Step> steps_;
  std::size_t acted_ = 0;  ///< steps before those
  bool is_acting_ = false;
  std::map<std::int64_t, Sample> made_;                   ///< that have not ended
  std::map<int, std::shared_ptr<const Plan>> left_;       ///< that are to be gone on with
  std::map<int, std::vector<std::string>> left_reports_;  ///< of those
  std::deque<std::int64_t> waiting_;                      ///< for slots; ascending
  std::map<int, Running> running_;
  SearchHosts hosts_;
  Occupancy held_;                        ///< by others for good, then by what runs
  Quantity used_slots_;                   ///< by what runs
  std::optional<int> stop_signal_;        ///< the user's, or `runtime_over`
  std::optional<Failure> first_failure_;  ///< of all trials, however these count
  std::optional<Failure> first_failed_;   ///< of those that count as failed
  std::optional<Error> last_trouble_;     ///< of a host that was left out
  std::optional<Failure> no_host_;        ///< the search has ended, since none is left
  std::unique_ptr<Subscription> time_limit_;
  std::unique_ptr<Subscription> next_try_;  ///< of what was passed over
  bool has_started_ = false;
  bool is_refused_ = false;
  bool has_reported_ = false;
  bool is_without_step_ = false;  ///< some report was, as was told
  bool is_budget_spent_ = false;  ///< what ran was cut short therefore
};

/// How a trial has ended, by its last attempt.
TrialEnd end_of_trial(const AttemptEnd& last);

/// Trials that have not ended, as far as the search that has decided this knows.
std::set<std::int64_t> present_trials(const Replay& replay);

}  // namespace train
