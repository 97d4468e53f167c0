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

/// Carries out a task over ports: hosts are connected once, and its trials run over these
/// connections. Feeds `Connections` and the drivers of the trials with events, and carries out
/// their actions. The launch command makes real ports, the simulation fake ones.
class TaskDriver final : private TrialOwner {
 public:
  /// The ports.
  struct Ports {
    Timers& timers;
    Transport& transport;
    OutputSink& output;
    ContextSource::Open open_context = {};  ///< nothing: no context travels
    /// Null: nothing is recorded, and nothing can be adopted.
    Journal* journal = nullptr;
  };

  using Resumption = TaskResumption;
  using Work = TaskWork;
  using Displacement = TaskDisplacement;
  using Hooks = TaskHooks;

  /// The plan and what the ports refer to must outlive the driver.
  TaskDriver(Ports ports, Work work, Hooks hooks);
  TaskDriver(const TaskDriver&) = delete;
  TaskDriver& operator=(const TaskDriver&) = delete;

  /// Begins to reach the hosts of the first trial; other hosts are reached when a trial needs them.
  void start();
  /// Whether further trials may be begun. While they may, the task does not end.
  void expect_trials(bool are_expected);
  /// No further trial follows; the task ends in this way once the running trials have ended.
  void end_trials(const task_action::End& how);
  /// Records the decisions of a search; `then` as in `JournalWriter::write`.
  void write_decisions(journal_record::SearchDecided decided, JournalWriter::Durable durable,
                       std::function<void()> then);
  /// Begins another trial in parallel to the running ones; only while trials are expected. It uses
  /// its own hooks, except for those about the task as a whole. A trial that is over before its
  /// ranks were told to start may be begun again, with its next attempt.
  void begin_trial(TrialWork work, Hooks hooks);
  /// Resumes the trials of a search that another supervisor has begun, and of which the journal
  /// records no end. To be called once, right after `start`.
  struct ResumedTrial {
    TrialWork work;
    Hooks hooks;
  };
  void resume_trials(std::vector<ResumedTrial> trials);
  /// Ends this trial for this reason (`RunOutcome::stop_signal`), while others go on. It may be
  /// over already.
  void stop_trial(int trial, int signal);
  /// The user stops everything, by this signal. A repeated stop shortens the time. When the task is
  /// over: ends the wait for dismissed agents. The ranks are told once the request is recorded, or
  /// after a short limit.
  void stop(int signal);
  /// The hosts are taken away: running attempts are stopped, and others are to follow elsewhere,
  /// which this driver does not begin. `on_moved` is called once none runs, if the task is not over
  /// then; the journal has what another driver needs (`TaskResumption::is_moved`).
  void move();
  /// The obstacle that kept hosts from being reached may be gone: all hosts are tried at once.
  void try_hosts_now();
  /// Another supervisor has taken the task over, as this process has found out: the driver does
  /// nothing any more.
  void displace(const Displacement& by);
  /// More chunks were written or synced: acknowledges them.
  void acknowledge_output() { streams_.acknowledge_output(); }
  /// Calls back, never from inside, once the dismissed agents have left, or have had a second or
  /// `patience` for it; a process that ends earlier loses their last messages. Only when over.
  void await_agents(std::function<void()> on_left, std::optional<nanoseconds> patience = {}) {
    streams_.await_agents(std::move(on_left), patience);
  }

  const Connections& connections() const { return connections_; }
  /// What another supervisor has left; null: this is the first supervisor.
  const TaskResumption* resumption() const { return work_.resume ? &*work_.resume : nullptr; }
  // About the first trial:
  const Task& task() const { return first().task(); }
  /// Whether there is a last attempt. There is none before the first attempt, nor while the next
  /// attempt is waited for after a take-over.
  bool has_run() const { return first().run() != nullptr; }
  const Run& run() const { return *first().run(); }
  /// The hosts of its last attempt.
  const TrialHosts& hosts() const { return first().hosts(); }
  bool over() const { return outcome_.has_value(); }
  /// The supervisor that has taken the task over; null: none.
  const Displacement* displacement() const { return displacement_ ? &*displacement_ : nullptr; }
  /// How the last attempt of the last trial ended; or the signal that came while another attempt
  /// was waited for. Only when over.
  const RunOutcome& outcome() const { return *outcome_; }
  /// The hosts whose stream ended by itself after their ranks were told to start: their agents may
  /// have been killed.
  std::vector<int> broken_hosts() const { return streams_.broken_hosts(); }
  /// The hosts that have not confirmed that nothing of the task is left: ranks, or an agent that
  /// waits indefinitely for another launcher.
  std::vector<int> unsettled_hosts() const {
    return streams_.unsettled_hosts(connections_.do_agents_wait_for_ever());
  }

 private:
  void resume();
  void resume_search();
  void meet(const std::vector<TrialDriver*>& trials, const std::vector<int>& hosts);
  void deliver_context();
  void happened(const ConnectionEvent& event);
  void note_displacement(int host, const message::Displaced& by);
  void check_displacement(bool is_displaced);
  void distrust(const std::string& by, int host);
  void tick();
  void journal_failed(const Error& why);
  void act_on_stops();
  bool needs_goodbye();
  void end_task();
  void report_reached();
  void report_moved();
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

  // An earlier action may have let the host go.
  template <class Action>
  void reach(const Action& action) {
    if (connections_.is_expected(action.host)) streams_.perform(action);
  }

  struct TrialOfTask {
    std::unique_ptr<Hooks> hooks;
    std::unique_ptr<TrialDriver> driver;
    bool is_over = false;
    bool may_go = false;  ///< its end is recorded and was reported
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
  bool is_reaching_ = false;  ///< hosts that another supervisor used are being reached
  bool is_moving_ = false;    ///< the hosts are taken away, and attempts are being stopped
  bool is_ending_ = false;    ///< the last trial has ended, and the end is being recorded
  // Of the trial that ended last:
  task_action::End last_end_;
  /// The end of the task, if it is not that of the last trial.
  std::optional<task_action::End> given_end_;
  std::optional<RunOutcome> last_outcome_;
  std::optional<RunOutcome> outcome_;
  std::optional<Displacement> displacement_;
  std::map<int, Displacement> reported_displacements_;  ///< by host; not checked yet
  std::vector<int> new_stops_;        ///< the user's stops that are not recorded yet
  std::vector<bool> may_be_missing_;  ///< hosts where another process may have left an agent
  HostStreams streams_;
  std::map<int, TrialOfTask> trials_;  ///< the running trials, and the first
  std::vector<TrialOfTask> replaced_;  ///< trials that were over and were begun again
  bool are_trials_expected_ = false;
  std::unique_ptr<Subscription> dropping_;  ///< destroys ended trials outside of their own calls
  DeadlineTimer deadline_;
  bool may_need_goodbye_ = false;  ///< to agents without ranks that another process has left
  std::unique_ptr<Subscription> goodbye_limit_;
};

}  // namespace train
