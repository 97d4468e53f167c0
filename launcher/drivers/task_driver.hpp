// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launcher/drivers/task_work.hpp"
#include "launcher/drivers/trial_driver.hpp"
#include "launcher/journal/journal_writer.hpp"
#include "launcher/ports/context_source.hpp"
#include "launcher/ports/deadline_timer.hpp"
#include "launcher/ports/journal.hpp"
#include "launcher/run/host_streams.hpp"
#include "launcher/run/run.hpp"
#include "launcher/task/task.hpp"

namespace train {

/// Carries out a task over ports: hosts are connected once, and its trials run over the
/// connections. Feeds `Connections` and the drivers of the trials with what happens, and does what
/// they want. The launch command makes real ports, the simulation fake ones.
class TaskDriver final : private TrialOwner {
 public:
  /// How the world is reached.
  struct Ports {
    Timers& timers;
    Transport& transport;
    OutputSink& output;
    ContextSource::Open open_context = {};  ///< nothing: no context travels
    Journal* journal = nullptr;             ///< none: nothing is written down, nor adopted
  };

  using Resumption = TaskResumption;
  using Work = TaskWork;
  using Displacement = TaskDisplacement;
  using Hooks = TaskHooks;

  /// The plan and what the ports refer to must outlive the driver.
  TaskDriver(Ports ports, Work work, Hooks hooks);
  TaskDriver(const TaskDriver&) = delete;
  TaskDriver& operator=(const TaskDriver&) = delete;

  /// Begins to reach the hosts of the first trial; others are reached when a trial wants them.
  void start();
  /// Whether trials may still be begun: until it is said that none will be, the task does not end.
  void expect_trials(bool are_expected);
  /// None will be, and the task ends so once those that run have ended.
  void end_trials(const task_action::End& how);
  /// Writes down what a search has decided; `then` as of `JournalWriter::write`.
  void write_decisions(journal_record::SearchDecided decided, JournalWriter::Durable durable,
                       std::function<void()> then);
  /// Begins another trial, beside those that run; while trials are expected. Its hooks are its own
  /// but for what is about the task as a whole. One that is over, and none of whose ranks were told
  /// to start, may be begun again, with its next attempt.
  void begin_trial(TrialWork work, Hooks hooks);
  /// Goes on with the trials of a search that another supervisor has begun, and of which the
  /// journal knows no end. Once, at once after `start`.
  struct ResumedTrial {
    TrialWork work;
    Hooks hooks;
  };
  void resume_trials(std::vector<ResumedTrial> trials);
  /// This trial is to end, for this reason (`RunOutcome::stop_signal`), while others go on. It may
  /// be over already.
  void stop_trial(int trial, int signal);
  /// The user wants everything to end, by this signal. Again: sooner. When all is over: agents that
  /// were dismissed are not waited for. The ranks are told once that is written down, or soon.
  void stop(int signal);
  /// What has kept hosts from being reached may be over: they are tried again at once.
  void try_hosts_now();
  /// Another supervisor goes on with the task, as was found out here: nothing is done any more.
  void displace(const Displacement& by);
  /// More chunks were written or synced: they are acknowledged.
  void acknowledge_output() { streams_.acknowledge_output(); }
  /// Calls back, never from inside, once the agents that were dismissed have left, or have had a
  /// second for it: what ends before loses their last words. Only when over.
  void await_agents(std::function<void()> on_left) { streams_.await_agents(std::move(on_left)); }

  const Connections& connections() const { return connections_; }
  /// What another supervisor has left; null: this is the first.
  const TaskResumption* resumption() const { return work_.resume ? &*work_.resume : nullptr; }
  // Of the first trial.
  const Task& task() const { return first().task(); }
  /// The last attempt. None before the first, nor while one is waited for that follows what
  /// another process has seen.
  bool has_run() const { return first().run() != nullptr; }
  const Run& run() const { return *first().run(); }
  bool over() const { return outcome_.has_value(); }
  /// Who goes on with the task in place of this one; null: it is this one's.
  const Displacement* displacement() const { return displacement_ ? &*displacement_ : nullptr; }
  /// How the last attempt of the last trial ended; a signal that came while another was waited for
  /// is its end. Only when over.
  const RunOutcome& outcome() const { return *outcome_; }
  /// The hosts whose stream ended by itself after their ranks were told to start: their agents may
  /// have been killed.
  std::vector<int> broken_hosts() const { return streams_.broken_hosts(); }
  /// The hosts that have not said that nothing of the task is left there: ranks, or an agent that
  /// waits for another launcher without an end.
  std::vector<int> unsettled_hosts() const {
    return streams_.unsettled_hosts(connections_.waits_for_ever());
  }

 private:
  void resume();
  void resume_search();
  void meet(const std::vector<TrialDriver*>& trials, const std::vector<int>& hosts);
  void deliver_context();
  void happened(const ConnectionEvent& event);
  void told_of_another(int host, const message::Displaced& by);
  void check_displacement(bool is_anothers);
  void distrust(const std::string& by, int host);
  void tick();
  void journal_failed(const Error& why);
  void act_on_stops();
  bool owes_goodbye();
  void end_task();
  void tell_reached();
  bool is_missing(const HostNews& news);

  void carry_out(const std::vector<ConnectionAction>& actions) override;
  void settle() override;
  void end_runtime() override { stop(runtime_over); }
  void trial_ends(int trial, const task_action::End& how,
                  const std::optional<AttemptEnd>& end_of) override;
  bool expects_trials() const override { return are_trials_expected_; }
  void expect_end(int trial) override;
  void keep_host(int trial, int host) override;
  void dismiss_host(int trial, int host) override;
  void let_go_of_host(AttemptId of, int host) override;
  bool is_displaced() const override { return displacement_.has_value(); }

  void perform(const HostNews& news);
  void perform(const host_action::Note& action) { hooks_.on_note(action.text); }
  void perform(const host_action::Send& action) { streams_.perform(action); }
  void perform(const host_action::CloseHost& action);
  void perform(const host_action::Open& action) { reach(action); }
  void perform(const host_action::Sweep& action) { reach(action); }
  void perform(const host_action::Reopen& action) { reach(action); }
  void perform(const host_action::KeepStream& action) { streams_.perform(action); }

  // The host may have been let go by what was carried out just before.
  template <class Action>
  void reach(const Action& action) {
    if (connections_.is_expected(action.host)) streams_.perform(action);
  }

  struct TrialOfTask {
    std::unique_ptr<Hooks> hooks;
    std::unique_ptr<TrialDriver> driver;
    bool is_over = false;
    bool may_go = false;  ///< that is written down, and was told
  };
  TrialDriver& first() { return *trials_.begin()->second.driver; }
  const TrialDriver& first() const { return *trials_.begin()->second.driver; }
  TrialDriver& make_trial(TrialWork work, std::unique_ptr<Hooks> hooks);
  TrialDriver* find(int trial);
  template <class Act>
  void each_trial(const Act& act) {
    for (auto& [number, trial] : trials_)
      if (!trial.is_over) act(*trial.driver);
  }
  bool is_any_left() const;
  bool is_last(int trial) const;
  bool is_used_by_others(int trial, int host) const;
  void write_end(const task_action::End& how, const std::optional<AttemptEnd>& end);
  void trial_is_over(int trial, const RunOutcome& outcome);
  void drop_trials();

  Ports ports_;
  Work work_;
  Hooks hooks_;
  TaskContext context_;
  Connections connections_;
  JournalWriter journal_;
  bool is_reaching_ = false;  ///< hosts that another supervisor has had
  bool is_ending_ = false;    ///< the last trial has ended, which waits to be written down
  // Of the trial that has ended last.
  task_action::End last_end_;
  std::optional<task_action::End> given_end_;  ///< of the task, in place of that
  std::optional<RunOutcome> last_outcome_;
  std::optional<RunOutcome> outcome_;
  std::optional<Displacement> displacement_;
  std::map<int, Displacement> told_of_others_;  ///< by hosts; not looked into yet
  std::vector<int> new_stops_;                  ///< the user's, that wait to be written down
  std::vector<bool> may_be_missing_;  ///< hosts whose agents another process has left, or not
  HostStreams streams_;
  std::map<int, TrialOfTask> trials_;  ///< those that are not over, and the first
  std::vector<TrialOfTask> replaced_;  ///< trials that are over, and were begun again
  bool are_trials_expected_ = false;
  std::unique_ptr<Subscription> dropping_;  ///< what is over, outside of its calls
  DeadlineTimer deadline_;
  bool may_owe_goodbye_ = false;  ///< to agents that another process has left without ranks
  std::unique_ptr<Subscription> goodbye_limit_;
};

}  // namespace train
