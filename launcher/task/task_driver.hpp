// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/output/log_watch.hpp"
#include "launcher/output/metrics_watch.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/ports/context_source.hpp"
#include "launcher/ports/deadline_timer.hpp"
#include "launcher/ports/journal.hpp"
#include "launcher/rendezvous/environment.hpp"
#include "launcher/run/context_delivery.hpp"
#include "launcher/run/host_streams.hpp"
#include "launcher/run/run.hpp"
#include "launcher/task/journal.hpp"
#include "launcher/task/journal_writer.hpp"
#include "launcher/task/task.hpp"

namespace train {

/// Carries out a task over ports: hosts are connected once, and attempts run over the connections.
/// Feeds `Connections`, `Run` and `Task` with what happens and does what they want; all decisions
/// are theirs. The launch command makes real ports, the simulation fake ones.
class TaskDriver {
 public:
  /// How the world is reached.
  struct Ports {
    Timers& timers;
    Transport& transport;
    OutputSink& output;
    ContextSource::Open open_context = {};  ///< nothing: no context travels
    Journal* journal = nullptr;             ///< none: nothing is written down, nor adopted
  };

  /// What a supervisor has left that has ended: this one goes on with it.
  struct Resumption {
    Replay replay;            ///< of the journal; neither over nor without an attempt
    std::uint64_t epoch = 0;  ///< of this supervisor: in the journal already, behind what was read
    /// By rank: how much output of the attempt `replay.attempt` its logs have.
    std::vector<std::uint64_t> positions;
    /// The end of those logs, in which nothing is to be missed that the other one has not told: the
    /// lines that had not ended, and before them what log policies may have found.
    std::vector<OutputChunk> last_output = {};
    /// Log policies of which a match in that attempt is on record; by index.
    std::vector<std::size_t> known_matches = {};
  };

  /// What is executed.
  struct Work {
    const Plan& plan;
    std::string task_id;
    PortNeeds port_needs;
    /// Where the ranks start: absolute, or relative to the context.
    std::string working_directory;
    std::function<std::vector<EnvironmentEntry>(int rank, int attempt)> environment_of;
    std::string boot_id = {};  ///< of this machine, for the journal
    std::optional<Resumption> resume = {};
    /// It is only to be stopped: a host that tells of a later supervisor is lost, since none may
    /// keep the others from being stopped by saying so.
    bool is_to_end = false;
    std::string launcher = {};          ///< who this is, in words for another launcher
    JournalWriter::Booted booted = {};  ///< for the journal
    /// Of its tickets, where it has waited for what it is to hold.
    std::optional<TicketOrder> order = {};
  };

  /// Another supervisor goes on with the task.
  struct Displacement {
    std::string host;  ///< that has said so; empty: the journal
    std::string by;    ///< the other one, in its own words as the host has them; may be empty
  };

  /// What others may want to know. They come from inside of calls to the driver, or of the ports'.
  struct Hooks {
    /// Before anything of this attempt happens; not for the first.
    std::function<void(int attempt)> on_attempt = [](int) {};
    std::function<void()> on_all_started = [] {};
    /// Once, of a task that is gone on with: every host was reached again, or is not expected to
    /// be.
    std::function<void()> on_reached = [] {};
    /// A line for the user.
    std::function<void(const std::string& text)> on_note = [](const std::string&) {};
    /// A line for the user, or empty; `is_last` when no attempt can follow.
    std::function<void(const std::string& why, bool is_last)> on_stopping = [](const std::string&,
                                                                               bool) {};
    std::function<void(int attempt, const RunOutcome& outcome)> on_attempt_over =
        [](int, const RunOutcome&) {};
    /// A rank has printed a line that a log policy looks for.
    std::function<void(const LogPolicy& policy, const PolicyMatch& match)> on_match =
        [](const LogPolicy&, const PolicyMatch&) {};
    /// A rank has said something of its training.
    std::function<void(const MetricsReport& report)> on_report = [](const MetricsReport&) {};
    /// A host has said what this rank of it uses, or has used.
    std::function<void(int rank, const RankUsage& usage)> on_usage = [](int, const RankUsage&) {};
    /// So many lines of metrics files were no reports.
    std::function<void(std::uint64_t lines)> on_ignored_lines = [](std::uint64_t) {};
    std::function<void(const task_action::AnnounceRestart& restart)> on_restart =
        [](const task_action::AnnounceRestart&) {};
    std::function<void(const ContextSummary& context)> on_context = [](const ContextSummary&) {};
    std::function<void(const ContextProgress& progress)> on_context_progress =
        [](const ContextProgress&) {};
    std::function<void()> on_over = [] {};  ///< what was printed may still have to be kept
    /// In place of `on_over`: from here on the driver does nothing any more, and nobody may in its
    /// name.
    std::function<void(const Displacement& by)> on_displaced = [](const Displacement&) {};
  };

  /// The plan and what the ports refer to must outlive the driver.
  TaskDriver(Ports ports, Work work, Hooks hooks);
  TaskDriver(const TaskDriver&) = delete;
  TaskDriver& operator=(const TaskDriver&) = delete;

  /// Begins to reach the hosts.
  void start();
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
  const Task& task() const { return task_; }
  /// The last attempt. None before the first, nor while one is waited for that follows what
  /// another process has seen.
  bool has_run() const { return run_.has_value(); }
  const Run& run() const { return *run_; }
  bool over() const { return outcome_.has_value(); }
  /// Who goes on with the task in place of this one; null: it is this one's.
  const Displacement* displacement() const { return displacement_ ? &*displacement_ : nullptr; }
  /// How the last attempt ended; a signal that came while another was waited for is its end. Only
  /// when over.
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
  enum class Go { not_wanted, being_written, allowed };

  void resume();
  void adopt_run();
  void look_back();
  void look_for_agents(bool have_ranks);
  void deliver_context();
  void happened(const ConnectionEvent& event);
  void told_of_another(int host, const message::Displaced& by);
  void weigh_what_was_told(bool is_anothers);
  void distrust(const std::string& by, int host);
  void tick();
  void feed(const RunEvent& event);
  void feed(const TaskEvent& event);
  void note(const TaskEvent& event, bool was_running);
  void journal_failed(const Error& why);
  void begin_written_attempt();
  void begin_attempt();
  void allow_start();
  void send_go(int host);
  void act_on_stops();
  bool owes_goodbye();
  void end_task();
  void settle();
  void tell_reached();
  void tell_of_logins();
  void look_at(const OutputChunk& chunk);
  void tell_ignored_lines();
  void tell_usage(const Message& said);
  void matched(const std::vector<PolicyMatch>& matches, int attempt);
  void note_hopeless(int attempt);
  void end_watches(int attempt);
  void carry_out(const std::vector<ConnectionAction>& actions);

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

  void perform(const run_action::SendPrepare& action);
  void perform(const run_action::SendContext& action);
  void perform(const run_action::SendGo& action);
  void perform(const run_action::LetGo& action) { carry_out(connections_.let_go(action.host)); }
  void perform(const run_action::Dismiss& action) { carry_out(connections_.dismiss(action.host)); }
  void perform(const run_action::Keep& action) { connections_.end_ranks(action.host); }
  void perform(const run_action::AllStarted& action);
  void perform(const run_action::Stopping& action);
  void perform(const run_action::Over&) { has_run_ended_ = true; }

  void perform(const task_action::BeginAttempt& action);
  void perform(const task_action::AnnounceRestart& action);
  void perform(const task_action::EndRuntime&) { stop(runtime_over); }
  void perform(const task_action::End& action);

  /// The attempt that runs, as agents know it.
  AttemptId of() const { return {trial_.trial, task_.attempt()}; }
  Run::Rules run_rules() const;
  bool is_missing(const HostNews& news);
  message::Prepare prepare_message(int host) const;
  void refuse_prepare(int host, std::string what, std::string hint);

  Ports ports_;
  Work work_;
  Hooks hooks_;
  const Trial& trial_;
  Connections connections_;
  Task task_;
  JournalWriter journal_;
  std::optional<Run> run_;         ///< the last attempt; none before the first
  bool is_being_written_ = false;  ///< that the next attempt begins
  bool has_run_ended_ = false;
  bool is_reaching_ = false;                ///< hosts that another supervisor has had
  std::optional<AttemptEnd> last_end_;      ///< of the attempt that is over now
  std::optional<task_action::End> ending_;  ///< it waits to be written down
  std::optional<RunOutcome> outcome_;
  std::optional<Displacement> displacement_;
  std::map<int, Displacement> told_of_others_;  ///< by hosts; not looked into yet
  std::vector<int> new_stops_;                  ///< the user's, that wait to be written down
  std::vector<int> stops_;                      ///< those that were acted on
  Go go_ = Go::not_wanted;                      ///< of this attempt
  std::vector<int> awaiting_go_;                ///< hosts
  std::vector<bool> may_be_missing_;  ///< hosts whose agents another process has left, or not
  bool is_context_named_ = false;
  HostStreams streams_;
  const std::vector<LeaseRequest> leases_;  ///< by host
  LogWatch log_watch_;
  MetricsWatch metrics_watch_;
  std::uint64_t ignored_lines_ = 0;          ///< that were told
  bool is_hopeless_ = false;                 ///< a log policy says so of this attempt
  std::string start_frame_;                  ///< Go of this attempt, encoded once for all hosts
  std::optional<ContextDelivery> delivery_;  ///< until no host can ask for it any more
  DeadlineTimer deadline_;
  bool may_owe_goodbye_ = false;  ///< to agents that another process has left without ranks
  std::unique_ptr<Subscription> goodbye_limit_;
};

}  // namespace train
