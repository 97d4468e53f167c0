// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/connections/connections.hpp"
#include "launcher/connections/trial_hosts.hpp"
#include "launcher/drivers/task_work.hpp"
#include "launcher/journal/journal_writer.hpp"
#include "launcher/output/log_watch.hpp"
#include "launcher/output/metrics_watch.hpp"
#include "launcher/output/output_sink.hpp"
#include "launcher/output/printed_reports.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/ports/timers.hpp"
#include "launcher/run/context_delivery.hpp"
#include "launcher/run/host_streams.hpp"
#include "launcher/run/run.hpp"
#include "launcher/task/task.hpp"

namespace train {

/// The directory that is sent to the hosts of a task, if there is one.
struct TaskContext {
  bool travels = false;
  bool is_named = false;              ///< it is packed, and hosts can be asked whether they have it
  std::optional<Error> failure = {};  ///< why it cannot be packed
  std::optional<ContextDelivery> delivery = {};  ///< until no host can ask for it any more
};

/// What the driver of a trial needs from the driver of its task.
class TrialOwner {
 public:
  virtual void carry_out(const std::vector<ConnectionAction>& actions) = 0;
  /// The trial has made progress outside of the task's events.
  virtual void settle() = 0;
  /// The task's time is over.
  virtual void end_runtime() = 0;
  /// No attempt of this trial follows. `end`: of the last attempt, if that ends the trial.
  virtual void trial_ends(int trial, const task_action::End& how,
                          const std::optional<AttemptEnd>& end) = 0;
  /// Whether other trials may begin on its hosts.
  virtual bool expects_trials() const = 0;
  /// The ranks of this trial have ended or are being stopped, and no further ones follow.
  virtual void expect_end(int trial) = 0;

  // About a host of the task, which other trials may share:
  /// The trial has nothing more to do on this host.
  virtual void keep_host(int trial, int host) = 0;
  virtual void dismiss_host(int trial, int host) = 0;
  /// The trial expects nothing more of this host: what is left of its attempt there is ended.
  virtual void let_go_of_host(AttemptId of, int host) = 0;
  /// Another supervisor has taken the task over: nothing is done any more.
  virtual bool is_displaced() const = 0;

 protected:
  ~TrialOwner() = default;
};

/// The hosts of this trial, by node rank, as hosts of the task.
std::vector<int> hosts_of_task(const Trial& trial, const Connections& connections);

/// Carries out one trial over the connections of its task: its attempts, in sequence. Feeds `Run`
/// and `Task` with events and carries out their actions; decides nothing.
class TrialDriver {
 public:
  /// The objects of its task that it uses. All of them must outlive it.
  struct Means {
    Timers& timers;
    OutputSink& output;
    Connections& connections;
    HostStreams& streams;
    JournalWriter& journal;
    TaskContext& context;
  };

  /// `task` and `hooks` must outlive it, too.
  TrialDriver(Means means, const TaskWork& task, TrialWork work, const TaskHooks& hooks,
              TrialOwner& owner);
  TrialDriver(const TrialDriver&) = delete;
  TrialDriver& operator=(const TrialDriver&) = delete;

  /// Begins its first attempt here.
  void start();

  // Instead of `start`, when resuming after another supervisor:
  void load_replay(TaskResumption& resumption);
  /// Adopts an attempt that may run, or that was ending; all its hosts are adopted with it.
  void adopt_run(const Replay& task);
  /// Begins the attempt again that was only prepared.
  void restart_attempt() { perform(task_action::BeginAttempt{task_.attempt()}); }

  /// News of a host of the task.
  void handle(HostNews news);
  void feed(const RunEvent& event);
  void tick();
  void look_at(const OutputChunk& chunk);
  /// The journal cannot be written any more: nothing new begins.
  void journal_failed(const Error& why);
  /// The user stops the task: attempts that wait end at once, running ones once `act_on_stop` is
  /// called, when the request is recorded or after a short limit.
  void request_stop(int signal) { feed(task_event::StopRequested{signal}); }
  void act_on_stop(int signal);
  /// The hosts are taken away: the running attempt is stopped, and no other one begins here.
  void move();
  /// Nothing runs, and nothing is being begun.
  bool is_at_rest() const { return is_being_written_ || !run_ || run_->over(); }
  /// Begins the attempt that waits for its record, although it will start nothing.
  void begin_written_attempt();
  /// Reports the end of an attempt, once everything that came with it was reported.
  void settle();
  std::optional<Instant> next_deadline() const;

  const Task& task() const { return task_; }
  const TrialHosts& hosts() const { return place_->hosts; }
  const Trial& trial() const { return place_->plan().trial; }
  /// The running attempt, as agents know it.
  AttemptId of() const { return {trial().trial, task_.attempt()}; }
  /// Whether the trial has ranks on this host, is about to, or may have.
  bool uses(int host) const;
  /// The last attempt; null: none yet, or the next attempt is waited for after a take-over.
  const Run* run() const { return run_ ? &*run_ : nullptr; }
  /// How the trial has ended: as its last attempt, or by a signal while it waited for another
  /// attempt.
  RunOutcome outcome(std::optional<int> signal) const;
  Instant time_of(int host, Instant at, Instant now) const;

 private:
  enum class Go { not_wanted, being_written, allowed };

  void feed(const TaskEvent& event);
  void note(const TaskEvent& event, bool was_running);
  void write(JournalRecord record, JournalWriter::Durable durable,
             std::function<void()> then = nullptr);
  void begin_attempt();
  void request_host(int host);
  void allow_start();
  void send_go(int node);
  void report_logins();
  void report_ignored_lines();
  void report_start(const HostNews& news);
  void report_usage(const Message& said);
  void note_checkpoint(const Message& said);
  bool made_progress() const;
  void matched(const std::vector<PolicyMatch>& matches, int attempt);
  void note_hopeless(int attempt);
  void end_watches(int attempt);

  // Actions of a run, whose hosts are node ranks:
  void perform(const host_action::Send& action);
  void perform(const host_action::Note& action) { hooks_.on_note(action.text); }
  void perform(const run_action::SendPrepare& action);
  void perform(const run_action::SendContext& action);
  void perform(const run_action::SendGo& action);
  void perform(const run_action::LetGo& action);
  void perform(const run_action::Dismiss& action);
  void perform(const run_action::Keep& action);
  void perform(const run_action::AllStarted& action);
  void perform(const run_action::Stopping& action);
  void perform(const run_action::Hangs& action) { hooks_.on_hang(action.report); }
  void perform(const run_action::Over&) { has_run_ended_ = true; }

  void perform(const task_action::BeginAttempt& action);
  void perform(const task_action::AnnounceRestart& action);
  void perform(const task_action::EndRuntime&) { owner_.end_runtime(); }
  void perform(const task_action::End& action) {
    end_ = action.why;
    owner_.trial_ends(trial().trial, action, last_end_);
  }

  Instant now() const { return means_.timers.now(); }
  int of_task(int node) const { return hosts().of_task(node); }
  const TrialWork& work() const { return place_->work; }
  const Plan& plan() const { return place_->work.plan; }
  Run::Rules run_rules() const;
  message::Prepare prepare_message(int node) const;
  void refuse_prepare(int node, std::string what, std::string hint);

  /// Where its attempts run.
  struct Place {
    Place(TrialWork done, int hosts_of_task, const std::string& launcher);

    const Plan& plan() const { return work.plan; }

    const TrialWork work;
    const TrialHosts hosts;
    const std::vector<LeaseRequest> leases;  ///< by node rank
  };
  void look_for_place(AttemptEnd& end);
  void has_moved(const Place& before);

  // Whether its hosts are reached for the first time, and for this trial.
  bool is_first() const { return &plan() == &common_.plan; }

  Means means_;
  const TaskWork& common_;
  const TaskHooks& hooks_;
  TrialOwner& owner_;
  std::unique_ptr<const Place> place_;
  std::unique_ptr<const Place> next_place_;  ///< of the next attempt, if it is another one
  std::vector<LeftOutHost> left_out_;        ///< of the hosts that are not part of that
  Task task_;
  LogWatch log_watch_;
  MetricsWatch metrics_watch_;
  PrintedReports printed_reports_;
  std::optional<Run> run_;             ///< the last attempt; none before the first
  bool is_being_written_ = false;      ///< the beginning of the next attempt is being recorded
  std::optional<milliseconds> begun_;  ///< when the next or the last attempt began
  bool has_run_ended_ = false;
  std::optional<AttemptEnd> last_end_;  ///< of the attempt that has just ended
  std::vector<int> stops_;              ///< the user's stops that were carried out
  Go go_ = Go::not_wanted;              ///< of this attempt
  std::vector<int> awaiting_go_;        ///< node ranks
  std::uint64_t ignored_lines_ = 0;     ///< number of lines that were reported
  bool is_hopeless_ = false;            ///< a log policy has found it for this attempt
  bool is_moving_ = false;              ///< its hosts are taken away
  std::optional<Sequel> end_;           ///< why no attempt follows
  /// Whether this attempt has made progress; nothing: not known.
  std::optional<bool> has_progress_;
  std::string start_frame_;  ///< Go of this attempt, encoded once for all hosts
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace train
