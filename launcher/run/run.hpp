// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/rendezvous/port_needs.hpp"
#include "launcher/run/heartbeat.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/states/state_table.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// What happens to a run. `host` is a node rank. Instants are the launcher's clock.
namespace run_event {
/// The agent's stream is open; `address` is the one the launcher reached the host by, the others
/// are those of the launcher's own machine, as `LinkInfo` has them.
struct HostOpened {
  int host = 0;
  std::string address;
  std::string own_address = {};
  std::string likely_own_address = {};
};
struct HostSaid {
  int host = 0;
  Message message;
};
/// Output of this host has arrived, or waits in the launcher to be written: the host is alive, even
/// when its answers to pings are stuck behind what it prints.
struct HostPrinted {
  int host = 0;
};
/// The stream is over, or was never opened.
struct HostClosed {
  int host = 0;
  Error why;
};
/// What came over the stream is not what an agent of ours sends.
struct HostBrokeProtocol {
  int host = 0;
  Error why;
};
/// What Reopen asked for: there is a new stream, in place of the old one, and the agent was told of
/// it. Its Hello follows, or HostClosed.
struct HostReopened {
  int host = 0;
};
/// There is none. The old stream, if there was one, still stands.
struct HostNotReopened {
  int host = 0;
  Error why;
};
/// The context is packed, and its name is known.
struct ContextPacked {};
/// The context cannot be packed; nothing will be started.
struct ContextFailed {
  Error why;
};
/// The user wants everything to end: Ctrl-C, a signal, `train task kill`.
struct StopRequested {
  int signal = 0;
};
/// Time has passed; sent at `Run::next_deadline()` at the latest.
struct Tick {};
}  // namespace run_event

using RunEvent =
    std::variant<run_event::HostOpened, run_event::HostSaid, run_event::HostPrinted,
                 run_event::HostClosed, run_event::HostBrokeProtocol, run_event::HostReopened,
                 run_event::HostNotReopened, run_event::ContextPacked, run_event::ContextFailed,
                 run_event::StopRequested, run_event::Tick>;

/// What a run wants done, in order.
namespace run_action {
/// Send this host its Prepare, made from the plan.
struct SendPrepare {
  int host = 0;
};
struct Send {
  int host = 0;
  Message message;
};
/// Send this host more of the packed context, as far as `context_window` beyond what it has taken.
struct SendContext {
  int host = 0;
  std::uint64_t taken = 0;  ///< bytes; never less than before
};
/// Send this host `Run::start_message()`. That can be long, and is the same for all of them.
struct SendGo {
  int host = 0;
};
/// Close the stream to this host; nothing more is expected of it.
struct CloseHost {
  int host = 0;
};
/// Reach the agent of this host once more, which must run already. Answered by HostReopened or
/// HostNotReopened.
struct Reopen {
  int host = 0;
};
/// The old stream works again: what Reopen asked for is not wanted any more.
struct KeepStream {
  int host = 0;
};
/// All ranks were started, and nothing has asked for their end yet.
struct AllStarted {};
/// A line for the user about what a host waits for. Few of them, whatever hosts send.
struct Note {
  std::string text;
};
/// The ranks are being stopped; `why` is a line for the user, empty when none of them runs any
/// more. What failed is told at the end.
struct Stopping {
  std::string why;
};
/// The run is over: `Run::outcome()` says how.
struct Over {};
}  // namespace run_action

using RunAction = std::variant<run_action::SendPrepare, run_action::Send, run_action::SendContext,
                               run_action::SendGo, run_action::CloseHost, run_action::Reopen,
                               run_action::KeepStream, run_action::AllStarted, run_action::Note,
                               run_action::Stopping, run_action::Over>;

/// How far a run is. `run_phases` says what may follow what.
enum class RunPhase { connecting, running, stopping, over };
const StateTable<RunPhase>& run_phases();

/// How far a run is with one of its hosts.
enum class HostState { connecting, preparing, ready, running, finished, failed };
const StateTable<HostState>& host_states();

/// The decisions of one attempt to execute a plan, and nothing else: events in, actions out.
///
/// Two phases: nothing is started before every host is ready. The first failure stops everything.
/// Every phase of a host that was reached has a deadline, so that none can keep a run from ending;
/// a host that is still being reached is the transport's to give up. An event of one host costs the
/// same however many hosts there are.
class Run {
 public:
  struct Timing {
    milliseconds heartbeat{2'000};  ///< between pings
    /// A host that says nothing for so long is lost, or, where there is a reconnect window, told
    /// of.
    milliseconds silence_limit{15'000};
    milliseconds answer_wait{1'000};     ///< for other hosts to be ready or fail, after one failed
    milliseconds prepare_limit{60'000};  ///< from the opened stream to Ready
    milliseconds unpack_limit{300'000};  ///< to Ready from the last piece taken of a context
    milliseconds block_notice{5'000};    ///< the user is told of a call that lasts so long
    milliseconds start_limit{60'000};    ///< for one call of the agent while it starts ranks
    milliseconds stop_slack{15'000};     ///< after the grace, until a host says Finished
    /// To Finished from the end of a host's last rank, or from its last output after that.
    milliseconds finish_limit{120'000};
    /// How long a host may be out of reach once its ranks were told to start; 0: not at all.
    milliseconds reconnect_window{0};
    milliseconds reconnect_after{5'000};  ///< of silence on an open stream
    /// A try to reach a host again begins no sooner than this after the one before it began: the
    /// second, the third, and all others.
    std::array<milliseconds, 3> reconnect_pauses{milliseconds(250), milliseconds(500),
                                                 milliseconds(1'000)};
    milliseconds reconnect_rest{100};   ///< nor sooner than this after that one failed
    milliseconds login_limit{10'000};   ///< a try that takes so long is given up for another
    milliseconds steady_after{10'000};  ///< a stream that stood so long is no failed try
    milliseconds broken_notice{5'000};  ///< the user is told of a stream that is away so long
  };

  /// Whether hosts are told to prepare as soon as they are open, or once the context is packed.
  enum class Delivery { nothing, context };

  /// `trial` must outlive the run.
  Run(const Trial& trial, PortNeeds ports, milliseconds stop_grace, Timing timing,
      Delivery delivery = Delivery::nothing);
  Run(const Trial& trial, PortNeeds ports, milliseconds stop_grace)
      : Run(trial, ports, stop_grace, Timing()) {}

  /// Takes one event; the actions are to be carried out in order.
  std::vector<RunAction> on(const RunEvent& event, Instant now);
  /// When a Tick is wanted, if at all.
  std::optional<Instant> next_deadline() const;
  bool over() const { return phase_ == RunPhase::over; }
  const TrackedState<RunPhase>& phase() const { return phase_; }
  const TrackedState<HostState>& host_state(int host) const {
    return hosts_[static_cast<std::size_t>(host)].state;
  }
  /// What every host is told to start its ranks with. Only once all of them are ready.
  const message::Go& start_message() const { return start_; }
  /// An instant of a host's clock on the launcher's clock, as far as the difference is known; never
  /// before the ranks were told to start, nor after `now`.
  Instant time_of(int host, Instant at, Instant now) const;
  /// How it ended. Only when over.
  const RunOutcome& outcome() const { return outcome_; }

 private:
  static constexpr std::size_t host_state_count = 6;
  /// Many times what an agent sends from one ping to the next.
  static constexpr int most_said_again = 100;

  /// A host whose ranks run, and that is out of reach.
  struct Outage {
    Instant since{0};           ///< last heard of, or the end of the stream
    bool is_silence = false;    ///< the stream had not ended
    bool is_opening = false;    ///< Reopen is not answered yet
    bool is_attaching = false;  ///< there is a new stream, and its Hello is waited for
    Instant next_try{0};        ///< when the host is tried again, if nothing comes of this try
    std::string why;            ///< what is known, in words
    bool is_noted = false;      ///< it lasts long enough for the user to be told
    bool is_named = false;      ///< the user was told
  };

  struct HostRun {
    std::string name;
    std::string address;
    std::string own_address;
    std::string likely_own_address;
    std::vector<int> ranks;
    TrackedState<HostState> state{host_states()};
    bool open = false;
    /// While preparing: when it was opened, told what to prepare, or last took more of the context.
    Instant last_progress{0};
    std::optional<std::uint64_t> context_taken;
    Heartbeat heartbeat;
    std::vector<int> held_ports;
    std::optional<message::Blocked> blocked;  ///< the last that it said of what it waits for
    Instant blocked_at{0};                    ///< when it said so
    bool is_noted = false;                    ///< the user was told that it waits
    bool is_port_taken = false;
    bool has_said_hello = false;
    bool has_agent_failed = false;
    int said_again = 0;  ///< messages since the last ping that changed nothing
    std::string boot_id;
    std::int64_t agent_pid = 0;
    std::optional<Outage> outage;
    int tries = 0;        ///< to reach it again, since its stream was last steady
    Instant tried_at{0};  ///< when the last of them began
    bool was_resumed = false;
    Instant resumed_at{0};            ///< when the stream was last made anew
    std::optional<Instant> check_at;  ///< when it is looked at next
    HostGpus gpus;
    int ranks_left = 0;                ///< whose end is not known
    std::optional<Instant> finish_by;  ///< once all its ranks have ended
    std::vector<message::Survivor> survivors;
    int more_survivors = 0;
  };

  void handle(const run_event::HostOpened& event);
  void handle(const run_event::HostSaid& event);
  void handle(const run_event::HostPrinted& event);
  void handle(const run_event::HostClosed& event);
  void handle(const run_event::HostBrokeProtocol& event);
  void handle(const run_event::HostReopened& event);
  void handle(const run_event::HostNotReopened& event);
  void handle(const run_event::ContextPacked& event);
  void handle(const run_event::ContextFailed& event);
  void handle(const run_event::StopRequested& event);
  void handle(const run_event::Tick& event);

  void receive(int host, const message::Hello& m);
  void receive(int host, const message::NoAgent& m);
  void receive(int host, const message::Ready& m);
  void receive(int host, const message::WantContext& m);
  void receive(int host, const message::Refused& m);
  void receive(int host, const message::RankStarted& m);
  void receive(int host, const message::RankNotStarted& m);
  void receive(int host, const message::RankEnded& m);
  void receive(int host, const message::Finished& m);
  void receive(int host, const message::Pong& m);
  void receive(int host, const message::Blocked& m);
  void receive(int host, const message::PortTaken& m);
  void receive(int host, const message::AgentFailed& m);
  template <class Other>
  void receive(int host, const Other&) {
    out_of_turn(host, "a launcher's message");
  }

  template <class Action>
  void act(Action action) {
    actions_.emplace_back(std::move(action));
  }
  int count(HostState state) const { return hosts_in_[static_cast<std::size_t>(state)]; }
  void enter(HostRun& host, HostState state);
  void settle(int host, HostState state);

  RankOutcome* outcome_of(int host, int rank, const char* what);
  void rank_is_over(int host);
  AlignedInstant align(int host, Instant at) const;
  AlignedInstant lost_since(const HostRun& host) const;
  AlignedInstant between(Instant from, Instant to) const;

  void ping(int host);
  Instant silent_since(const HostRun& host) const;
  milliseconds silence_limit(const HostRun& host) const;
  milliseconds prepare_limit() const;
  std::optional<Instant> prepare_deadline(const HostRun& host) const;
  Instant next_check(const HostRun& host) const;
  void check(int host);
  void look_again(int host);
  void host_silent(int host);

  void heard(int host);
  bool may_be_away(const HostRun& host) const;
  bool is_watched(const HostRun& host) const { return host.open || host.outage; }
  Instant lost_at(const HostRun& host) const;
  Instant notice_at(const HostRun& host) const;
  Instant next_outage_check(const HostRun& host) const;
  void begin_outage(int host, Instant since, std::string why);
  void end_outage(int host);
  void drop_outage(HostRun& host);
  void check_outage(int host);
  void note_outage(int host);
  void reopen(int host);
  void try_later(HostRun& host);
  void say_goodbye(int host);
  void resume(int host, const message::Hello& m);
  void out_of_reach(int host);

  void out_of_turn(int host, const char* what);
  void said_again(int host);
  void fact_again(int host, const char* what);
  void host_failed(int host, Error why);
  void host_in_trouble(int host, const AlignedInstant& since, Error why);
  Error not_ready(const HostRun& host) const;
  void rank_failed(Failure failure);
  void decide_start();
  void note_undecided();
  std::string address_of_this_machine() const;
  Result<std::string> address_of(int host) const;
  Result<message::Go> start_message_of_hosts() const;
  void go();
  void refuse_start(int host, Error why);
  void stop(milliseconds grace, const std::optional<std::string>& why);
  /// What the user is told at once of a failure.
  std::string why_stopping(const std::string& failed) const;
  void send_stop(int host, milliseconds grace);
  void check_over();
  void give_up_waiting();
  void finish();

  const Trial& trial_;
  PortNeeds ports_;
  message::Go start_;
  milliseconds stop_grace_;
  Timing timing_;
  Delivery delivery_;
  bool context_awaited_;  ///< it is not packed yet
  TrackedState<RunPhase> phase_{run_phases()};
  std::vector<HostRun> hosts_;
  RunOutcome outcome_;
  std::vector<Failure> failures_;
  std::optional<Instant> answers_by_;  ///< when a start that failed ends, whoever has not answered
  std::optional<Instant> stop_by_;     ///< when hosts that have not finished are given up
  std::optional<milliseconds> grace_sent_;  ///< with the last Stop
  std::optional<Instant> interrupted_at_;
  int stop_requests_ = 0;
  int notes_ = 0;          ///< how many the user was told
  int outages_named_ = 0;  ///< how many hosts the user knows to be out of reach
  int ranks_started_ = 0;
  int ranks_done_ = 0;                            ///< exited with code 0 before any stop
  Instant go_at_{0};                              ///< when the ranks were told to start
  Instant awake_since_{0};                        ///< when this process last woke from a long sleep
  std::array<int, host_state_count> hosts_in_{};  ///< how many hosts are in each state
  /// When each open host is looked at next, soonest first: once per heartbeat at least.
  std::priority_queue<std::pair<Instant, int>, std::vector<std::pair<Instant, int>>, std::greater<>>
      checks_;
  Instant now_{0};
  std::vector<RunAction> actions_;
};

}  // namespace train
