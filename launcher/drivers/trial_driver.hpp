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

/// The directory that travels to the hosts of a task, if one does.
struct TaskContext {
  bool travels = false;
  bool is_named = false;              ///< it is packed, and hosts can be asked whether they have it
  std::optional<Error> failure = {};  ///< why it cannot be
  std::optional<ContextDelivery> delivery = {};  ///< until no host can ask for it any more
};

/// What the driver of a trial wants of the task.
class TrialOwner {
 public:
  virtual void carry_out(const std::vector<ConnectionAction>& actions) = 0;
  /// Something has come of the trial that no event of the task has brought.
  virtual void settle() = 0;
  /// The task has had its time.
  virtual void end_runtime() = 0;
  /// No attempt follows of this trial. `end`: of the last one, where that is what brings the end
  /// about.
  virtual void trial_ends(int trial, const task_action::End& how,
                          const std::optional<AttemptEnd>& end) = 0;
  /// Other trials may begin on its hosts.
  virtual bool expects_trials() const = 0;
  /// The ranks of this trial have ended, or are being stopped, and no others follow.
  virtual void expect_end(int trial) = 0;

  // Of a host of the task, where other trials may be.
  /// The trial has nothing more to do there.
  virtual void keep_host(int trial, int host) = 0;
  virtual void dismiss_host(int trial, int host) = 0;
  /// It expects nothing more of that host: whatever is there of its attempt ends.
  virtual void let_go_of_host(AttemptId of, int host) = 0;
  /// Another supervisor goes on with the task: nothing is done any more.
  virtual bool is_displaced() const = 0;

 protected:
  ~TrialOwner() = default;
};

/// Carries out one trial of a task over the connections of the task: its attempts, one after the
/// other. Feeds `Run` and `Task` with what happens and does what they want; decides nothing.
class TrialDriver {
 public:
  /// What it has of its task. All outlive it.
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

  void start();

  // In place of `start`, what another supervisor has left.
  void look_back(TaskResumption& resumption);
  /// An attempt that may run, or whose end was under way; every host is adopted with it.
  void adopt_run(const Replay& task);
  /// The attempt that was only prepared begins anew.
  void begin_anew() { perform(task_action::BeginAttempt{task_.attempt()}); }

  /// What has become known of a host of the task.
  void hear(HostNews news);
  void feed(const RunEvent& event);
  void tick();
  void look_at(const OutputChunk& chunk);
  /// What was written down cannot be any more: nothing new begins.
  void journal_failed(const Error& why);
  /// The user wants the end: attempts that wait end at once, the others once `act_on_stop` is
  /// called, when that is written down or soon.
  void request_stop(int signal) { feed(task_event::StopRequested{signal}); }
  void act_on_stop(int signal);
  /// The attempt that waits for a disk starts nothing any more.
  void begin_written_attempt();
  /// Tells the end of an attempt, once all that came with it was told.
  void settle();
  std::optional<Instant> next_deadline() const;

  const Task& task() const { return task_; }
  const TrialHosts& hosts() const { return hosts_; }
  const Trial& trial() const { return trial_; }
  /// The attempt that runs, as agents know it.
  AttemptId of() const { return {trial_.trial, task_.attempt()}; }
  /// It has ranks on this host, or is about to, or may have.
  bool uses(int host) const;
  /// The last attempt; null: none yet, nor while one is waited for that follows what another
  /// process has seen.
  const Run* run() const { return run_ ? &*run_ : nullptr; }
  /// How the trial has ended: as its last attempt, or by a signal while it waited for another one.
  RunOutcome outcome(std::optional<int> signal) const;
  Instant time_of(int host, Instant at, Instant now) const;

 private:
  enum class Go { not_wanted, being_written, allowed };

  void feed(const TaskEvent& event);
  void note(const TaskEvent& event, bool was_running);
  void write(JournalRecord record, JournalWriter::Durable durable,
             std::function<void()> then = nullptr);
  void begin_attempt();
  void want_host(int node);
  void allow_start();
  void send_go(int node);
  void tell_of_logins();
  void tell_ignored_lines();
  void tell_usage(const Message& said);
  void matched(const std::vector<PolicyMatch>& matches, int attempt);
  void note_hopeless(int attempt);
  void end_watches(int attempt);

  // Of a run, whose hosts are node ranks.
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
  void perform(const run_action::Over&) { has_run_ended_ = true; }

  void perform(const task_action::BeginAttempt& action);
  void perform(const task_action::AnnounceRestart& action);
  void perform(const task_action::EndRuntime&) { owner_.end_runtime(); }
  void perform(const task_action::End& action) {
    owner_.trial_ends(trial_.trial, action, last_end_);
  }

  Instant now() const { return means_.timers.now(); }
  int of_task(int node) const { return hosts_.of_task(node); }
  Run::Rules run_rules() const;
  message::Prepare prepare_message(int node) const;
  void refuse_prepare(int node, std::string what, std::string hint);

  // Its hosts are reached for the first time, and for it.
  bool is_first() const { return &work_.plan == &common_.plan; }

  Means means_;
  const TaskWork& common_;
  const TrialWork work_;
  const TaskHooks& hooks_;
  TrialOwner& owner_;
  const Trial& trial_;
  const TrialHosts hosts_;
  const std::vector<LeaseRequest> leases_;  ///< by node rank
  Task task_;
  LogWatch log_watch_;
  MetricsWatch metrics_watch_;
  PrintedReports printed_reports_;
  std::optional<Run> run_;             ///< the last attempt; none before the first
  bool is_being_written_ = false;      ///< that the next attempt begins
  std::optional<milliseconds> begun_;  ///< when that, or the last one, began
  bool has_run_ended_ = false;
  std::optional<AttemptEnd> last_end_;  ///< of the attempt that is over now
  std::vector<int> stops_;              ///< the user's, that were acted on
  Go go_ = Go::not_wanted;              ///< of this attempt
  std::vector<int> awaiting_go_;        ///< node ranks
  std::uint64_t ignored_lines_ = 0;     ///< that were told
  bool is_hopeless_ = false;            ///< a log policy says so of this attempt
  std::string start_frame_;             ///< Go of this attempt, encoded once for all hosts
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace train
