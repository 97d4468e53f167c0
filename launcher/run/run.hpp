// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/connections/connections.hpp"
#include "launcher/connections/trial_connections.hpp"
#include "launcher/hang/hang_report.hpp"
#include "launcher/hang/hang_watch.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/rendezvous/port_needs.hpp"
#include "launcher/run/lease_round.hpp"
#include "launcher/run/network_round.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/states/state_table.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// What happens to a run, besides `HostNews`. Instants are on the launcher's clock.
namespace run_event {
/// The context is packed, and its name is known.
struct ContextPacked {};
/// The context cannot be packed; nothing will be started.
struct ContextFailed {
  Error why;
};
/// No ranks may be started, because that cannot be recorded. Never comes after the first rank was
/// told to start.
struct StartForbidden {
  Error why;
};
/// The user stops everything: Ctrl-C, a signal, `train task kill`.
struct StopRequested {
  int signal = 0;
};
/// Time has passed; sent at `Run::next_deadline()` at the latest.
struct Tick {};
}  // namespace run_event

using RunEvent = std::variant<HostNews, run_event::ContextPacked, run_event::ContextFailed,
                              run_event::StartForbidden, run_event::StopRequested, run_event::Tick>;

/// Actions of a run, in order, besides those of `host_action`.
namespace run_action {
/// Send this host its Prepare, made from the plan.
struct SendPrepare {
  int host = 0;
};
/// Send this host more of the packed context, up to `context_window` beyond what it has taken.
struct SendContext {
  int host = 0;
  std::uint64_t taken = 0;  ///< bytes; never less than before
};
/// Send this host `Run::start_message()`. The message can be long, and is the same for all hosts.
/// From now on the host's agent outlives its streams.
struct SendGo {
  int host = 0;
};
/// Nothing more is expected of this host: its connection is closed (`Connections::let_go`).
struct LetGo {
  int host = 0;
};
/// The same for a host that has done its part: its agent leaves (`Connections::dismiss`).
struct Dismiss {
  int host = 0;
};
/// This host has done its part, and waits for the next attempt (`Connections::end_ranks`).
struct Keep {
  int host = 0;
};
/// All ranks were started, and none of them is to be stopped so far.
struct AllStarted {};
/// The ranks are being stopped. `why` is a line for the user, empty if no rank runs any more.
/// Failures are reported at the end.
struct Stopping {
  std::string why;
};
/// Nothing has come from the ranks for their `hang_timeout`: Stopping follows.
struct Hangs {
  HangReport report;
};
/// The run is over: `Run::outcome()` says how.
struct Over {};
}  // namespace run_action

using RunAction = std::variant<host_action::Send, host_action::Note, run_action::SendPrepare,
                               run_action::SendContext, run_action::SendGo, run_action::LetGo,
                               run_action::Dismiss, run_action::Keep, run_action::AllStarted,
                               run_action::Stopping, run_action::Hangs, run_action::Over>;

/// The phase of a run. `run_phases` defines the transitions.
enum class RunPhase { connecting, running, stopping, over };
const StateTable<RunPhase>& run_phases();

/// The state of one host of a run.
enum class HostState { connecting, preparing, ready, running, finished, failed };
const StateTable<HostState>& host_states();

/// The decisions of one attempt to execute a plan, and nothing else: events in, actions out.
///
/// The start has two phases: nothing is started before every host is ready. The first failure stops
/// everything. Every phase of a connected host has a deadline, so that no host can keep a run from
/// ending; the transport gives up a host that is still being reached. An event of one host costs
/// the same however many hosts there are.
class Run {
 public:
  struct Timing {
    /// For other hosts to be ready or fail, after the first failure.
    milliseconds answer_wait{1'000};
    milliseconds prepare_limit{60'000};  ///< from the opened stream to Ready
    milliseconds unpack_limit{300'000};  ///< from the last piece of a context taken to Ready
    milliseconds block_notice{5'000};    ///< the user is told of a call that takes this long
    milliseconds start_limit{60'000};    ///< for one call of the agent while it starts ranks
    /// From the end of the grace until a host says Finished; after a failure also from the last
    /// output of a host whose ranks have ended.
    milliseconds stop_slack{15'000};
    /// From the end of a host's last rank, or from its last output after that, to Finished.
    milliseconds finish_limit{120'000};
    /// Total limit for the same, however much output comes: the time for 1 GiB at 1 MB/s.
    milliseconds drain_limit{1'200'000};
  };

  /// When hosts are told to prepare: as soon as they are open, or once the context is packed.
  enum class Delivery { nothing, context, packed_context };

  /// What happens to hosts after an attempt that has failed.
  enum class Hosts {
    dismissed,    ///< no attempt follows: hosts that have done their part are not needed
    kept,         ///< another attempt may follow if ranks were told to start: hosts wait for it
    kept_always,  ///< the same, however this attempt ends
  };
  struct Rules {
    PortNeeds ports;
    milliseconds stop_grace;  ///< from the stop signal to KILL
    Delivery delivery = Delivery::nothing;
    Hosts hosts = Hosts::dismissed;
    AttemptId of = {};            ///< the name of this attempt for agents
    milliseconds stop_notice{0};  ///< from the stop file to the stop signal
    std::string task_id = {};
    /// By host: whether it is to hold leases for the task; empty: no host is.
    std::vector<bool> holds = {};
    /// Hosts report their networks, and probe which other hosts they reach.
    bool looks_for_networks = false;
    milliseconds gpu_wait{0};      ///< how long hosts may wait for memory of GPUs
    milliseconds hang_timeout{0};  ///< 0: ranks may be silent for ever
  };

  /// `trial` and the connections behind `connections` must outlive the run. Hosts that are up
  /// already are announced with `host_news::Up`, like others.
  Run(const Trial& trial, TrialConnections connections, Rules rules, Timing timing);
  Run(const Trial& trial, TrialConnections connections, Rules rules)
      : Run(trial, std::move(connections), std::move(rules), Timing()) {}

  /// What was recorded of a run that another process has begun.
  struct Adopted {
    /// The message with which hosts were, or were to be, told to start their ranks. Nothing: no
    /// host was told, and nothing is to be started any more.
    std::optional<message::Go> go;
    std::optional<Instant> started_at;  ///< when the start was decided; nothing: not known
    bool is_failing = false;
    std::optional<Failure> failure;     ///< the first that was recorded
    std::vector<int> stop_signals;      ///< of the user's stop requests
    std::optional<Instant> stopped_at;  ///< the first request; nothing: not known
  };
  /// Resumes such a run, instead of all steps up to Go: every host is then announced with
  /// `host_news::Resumed` or `Lost`. To be called before anything else.
  std::vector<RunAction> adopt(const Adopted& known, Instant now);

  /// Takes one event; the actions are to be carried out in order.
  std::vector<RunAction> on(const RunEvent& event, Instant now);
  /// When the next Tick is due; nothing: no Tick is needed.
  std::optional<Instant> next_deadline() const;
  /// While ranks are being stopped: when hosts that are out of reach are given up; nothing: never.
  std::optional<Instant> gives_up_by() const;
  /// The ends of all ranks are known.
  bool has_no_ranks_left() const;
  /// The number of ranks whose end is not known.
  int ranks_left() const;
  bool has_failed() const { return !failures_.empty() || known_failure_; }
  /// In the order in which they became known, until the run is over.
  const std::vector<Failure>& failures() const { return failures_; }
  bool over() const { return phase_ == RunPhase::over; }
  const TrackedState<RunPhase>& phase() const { return phase_; }
  const TrackedState<HostState>& host_state(int host) const {
    return hosts_[static_cast<std::size_t>(host)].state;
  }
  /// Whether the host has said that it kills the ranks when the login session that started them
  /// ends.
  bool ends_with_login(int host) const {
    return hosts_[static_cast<std::size_t>(host)].ends_with_login;
  }
  int world_size() const { return static_cast<int>(outcome_.ranks.size()); }
  /// The usage of this rank as last reported by its host; null: not known.
  const RankUsage* usage_of(int rank) const;
  /// The CPUs that this rank is bound to; null: unbound, or not known to run.
  const std::vector<int>* cpus_of(int rank) const;
  /// The message with which every host is told to start its ranks. Only once all hosts are ready.
  const message::Go& start_message() const { return start_; }
  /// Converts an instant of a host's clock to the launcher's clock, as far as the difference is
  /// known; never before the ranks were told to start, nor after `now`.
  Instant time_of(int host, Instant at, Instant now) const;
  /// How it ended. Only when over.
  const RunOutcome& outcome() const { return outcome_; }

 private:
  static constexpr std::size_t host_state_count = 6;

  struct HostRun {
    TrackedState<HostState> state{host_states()};
    /// While preparing: when the host was opened, was told what to prepare, or last took more of
    /// the context.
    Instant last_progress{0};
    std::optional<std::uint64_t> context_taken;
    std::vector<int> held_ports;
    std::optional<message::Blocked> blocked;  ///< the last call that it reported as blocked
    Instant blocked_at{0};                    ///< when it was reported
    bool is_noted = false;                    ///< the user was told
    bool is_port_taken = false;
    bool is_output_blocked = false;
    bool has_no_stop_file = false;
    int output_blocked_reports = 0;  ///< number of reports
    bool has_agent_failed = false;
    bool has_told_ports = false;
    message::OwnStop own_stop = message::OwnStop::none;
    Repetitions repetitions;
    bool was_resumed = false;
    bool was_stopped_early = false;  ///< before it was told to start its ranks
    HostGpus gpus;
    HostNetworks networks;
    std::string checkpoint_mark;
    bool ends_with_login = false;
    int ranks_left = 0;                ///< whose end is not known
    std::optional<Instant> finish_by;  ///< once all its ranks have ended
    Instant drain_by{0};               ///< latest value of `finish_by`
    nanoseconds missed{0};             ///< time out of reach by which `drain_by` was extended
    std::uint64_t late_bytes = 0;      ///< output that came after its ranks had ended
    std::vector<message::Survivor> survivors;
    int more_survivors = 0;
  };

  void handle(const HostNews& news);
  void handle(const run_event::ContextPacked& event);
  void handle(const run_event::ContextFailed& event);
  void handle(const run_event::StartForbidden& event);
  void handle(const run_event::StopRequested& event);
  void handle(const run_event::Tick& event);

  void handle(const host_news::Up& news);
  void handle(const host_news::Said& news);
  void handle(const host_news::Printed& news);
  void handle(const host_news::Resumed& news);
  void handle(const host_news::Lost& news);

  void receive(int host, const message::Ready& m);
  void receive(int host, const message::Leases& m);
  void receive(int host, const message::Probed& m);
  void receive(int host, const message::WantContext& m);
  void receive(int host, const message::Refused& m);
  void receive(int host, const message::RankStarted& m);
  void receive(int host, const message::RankNotStarted& m);
  void receive(int host, const message::RankEnded& m);
  void receive(int host, const message::Usage& m);
  void receive(int host, const message::RanksSeen& m);
  void receive(int host, const message::Finished& m);
  void receive(int host, const message::Blocked& m);
  void receive(int host, const message::PortTaken& m);
  void receive(int host, const message::OutputBlocked& m);
  void receive(int host, const message::StopsRanks& m);
  void receive(int host, const message::NoStopFile& m);
  void receive(int host, const message::AgentFailed& m);
  template <class Other>
  void receive(int host, const Other&) {
    refuse_unexpected(host, "a launcher's message");
  }

  template <class Action>
  void act(Action action) {
    actions_.emplace_back(std::move(action));
  }
  int count(HostState state) const { return hosts_in_[static_cast<std::size_t>(state)]; }
  void enter(HostRun& host, HostState state);

  RankOutcome* outcome_of(int host, int rank, const char* what);
  void rank_is_over(int host);
  void await_finish(HostRun& host);
  void extend_drain_deadline(HostRun& host, const AlignedInstant& away);
  static std::string words_of_flood(const HostRun& host);
  AlignedInstant align(int host, Instant at) const;
  const message::AttemptStatus* status_in(const message::Hello& hello) const;
  /// Text for the user: an agent has stopped its ranks by itself, and why.
  static const char* words_of(message::OwnStop stop);
  void resume_ranks(const host_news::Resumed& news);
  void stop_again();
  bool is_agent_of_run(int host, const message::AttemptStatus* status);
  std::string words_of_stop(int host) const;
  void align_later(int host, int rank, Instant at);
  void align_now();
  void add_known_failure();
  AlignedInstant lost_since(int host) const;
  const std::string& name(int host) const { return connections_.name(host); }

  milliseconds prepare_limit() const;
  std::optional<Instant> prepare_deadline(const HostRun& host) const;
  void check(int host);
  void schedule_check(int host);
  void prepare(int host);
  bool keeps_hosts() const;
  void finish_host(int host);

  void refuse_unexpected(int host, const char* what);
  void count_repetition(int host);
  void repeated_fact(int host, const char* what);
  void let_go(int host, Error why);
  void host_failed(int host, Error why, const message::LeftBehind& left = {});
  void host_in_trouble(int host, const AlignedInstant& since, Error why);
  Error not_ready(const HostRun& host) const;
  void rank_failed(Failure failure);
  void act_on_leases();
  bool is_one_machine() const;
  void look_for_networks();
  void act_on_networks();
  void give_up_silent_probers();
  std::vector<message::NetworkChoice> chosen_networks() const;
  void decide_start();
  void note_undecided();
  void note_shared_cores(int host);
  std::string address_of_this_machine() const;
  Result<std::string> address_of(int host) const;
  Result<message::Go> start_message_of_hosts() const;
  Result<void> check_checkpoints() const;
  void go();
  void refuse_start(int host, Error why);
  static constexpr message::Stop kill_at_once{};
  message::Stop usual_stop() const { return {rules_.stop_grace, rules_.stop_notice}; }
  message::Stop stop_from_now() const;
  std::string words_of_request(int signal) const;
  void stop(const message::Stop& how, const std::optional<std::string>& why);
  /// The line for the user when a failure stops the run.
  std::string why_stopping(const std::string& failed) const;
  void send_stop(int host, const message::Stop& how);
  void check_over();
  bool awaits_lost_hosts() const;
  bool is_awaited(int host) const;
  void give_up_waiting();
  void finish();
  void watch_progress();
  void look_at_ranks(bool wants_states);
  bool can_anything_come() const;
  void ranks_hang();

  /// The end of a rank that was reported before the clock difference was known.
  struct Unaligned {
    int host = 0;
    int rank = 0;
    Instant at{0};    ///< on the host's clock
    Instant told{0};  ///< on the launcher's clock
  };

  const Trial& trial_;
  TrialConnections connections_;
  Rules rules_;
  message::Go start_;
  Timing timing_;
  bool context_awaited_;  ///< it is not packed yet
  LeaseRound leases_;
  NetworkRound networks_;
  HangWatch hang_;
  TrackedState<RunPhase> phase_{run_phases()};
  std::vector<HostRun> hosts_;
  RunOutcome outcome_;
  std::vector<Failure> failures_;
  bool has_gone_ = false;    ///< the ranks were told to start
  bool is_adopted_ = false;  ///< by another process
  /// An agent that does not know this attempt is not the one that started it.
  bool may_be_missed_ = false;
  std::optional<Failure> known_failure_;  ///< recorded by that process
  std::vector<Unaligned> unaligned_;
  /// When a failed start ends, even if hosts have not answered.
  std::optional<Instant> answers_by_;
  std::optional<Instant> stop_by_;          ///< when hosts that have not finished are given up
  std::optional<message::Stop> stop_sent_;  ///< the last Stop sent
  std::optional<Instant> signal_at_;        ///< when the ranks' notice is over
  std::optional<Instant> interrupted_at_;
  int stop_requests_ = 0;
  int notes_ = 0;  ///< number of lines told to the user
  bool has_noted_shared_cores_ = false;
  int ranks_started_ = 0;
  int ranks_done_ = 0;                            ///< exited with code 0 before any stop
  Instant go_at_{0};                              ///< when the ranks were told to start
  std::array<int, host_state_count> hosts_in_{};  ///< how many hosts are in each state
  HostChecks checks_;                             ///< of hosts that have a deadline of their own
  Instant now_{0};
  std::vector<RunAction> actions_;
};

}  // namespace train
