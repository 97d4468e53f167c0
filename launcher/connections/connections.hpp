// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/connections/heartbeat.hpp"
#include "launcher/connections/host_checks.hpp"
#include "launcher/connections/repetitions.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// What happens to the connections of a task. `host` is a node rank. Instants are on the launcher's
/// clock.
namespace connection_event {
/// The agent's stream is open. `address` is the one by which the launcher reached the host; the
/// others are those of the launcher's own machine, as in `LinkInfo`.
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
/// if its pongs are stuck behind its output.
struct HostPrinted {
  int host = 0;
  std::uint64_t bytes = 0;  ///< that have arrived
};
/// The stream is over, or was never opened.
struct HostClosed {
  int host = 0;
  Error why;
};
/// The host sent something over the stream that an agent of train never sends.
struct HostBrokeProtocol {
  int host = 0;
  Error why;
};
/// Answers Reopen: a new stream has replaced the old one, and the agent was told of it. Its Hello
/// follows, or HostClosed.
struct HostReopened {
  int host = 0;
  // As in HostOpened. Used only if the host's addresses are not known yet.
  std::string address = {};
  std::string own_address = {};
  std::string likely_own_address = {};
};
/// Answers Reopen: there is no new stream. The old stream, if there was one, stays.
struct HostNotReopened {
  int host = 0;
  Error why;
};
/// Answers Sweep: nothing of an earlier agent is left on the host, or that is not known (`why`).
struct HostSwept {
  int host = 0;
  std::optional<Error> why = {};
};
/// Time has passed; sent at `Connections::next_deadline()` at the latest.
struct Tick {};
}  // namespace connection_event

using ConnectionEvent =
    std::variant<connection_event::HostOpened, connection_event::HostSaid,
                 connection_event::HostPrinted, connection_event::HostClosed,
                 connection_event::HostBrokeProtocol, connection_event::HostReopened,
                 connection_event::HostNotReopened, connection_event::HostSwept,
                 connection_event::Tick>;

/// News of a host, for the attempt that runs on it.
namespace host_news {
/// The agent can be talked to.
struct Up {
  int host = 0;
};
struct Said {
  int host = 0;
  Message message;
};
struct Printed {
  int host = 0;
  std::uint64_t bytes = 0;  ///< 0: output that arrived earlier is not written yet
};
/// The agent can be talked to again, after it was out of reach at some moment `away`. Messages sent
/// before may be lost; the agent repeats the facts about its attempts.
struct Resumed {
  int host = 0;
  message::Hello hello;
  AlignedInstant away;
};
/// Nothing more is to be expected of the host, and its connection is closed.
struct Lost {
  int host = 0;
  Error why;  ///< does not name the host
  message::LeftBehind left = {};
};
}  // namespace host_news

using HostNews = std::variant<host_news::Up, host_news::Said, host_news::Printed,
                              host_news::Resumed, host_news::Lost>;

/// Actions on a host, to be carried out in order.
namespace host_action {
struct Send {
  int host = 0;
  Message message;
};
/// Close the stream to this host.
struct CloseHost {
  int host = 0;
};
/// Reach this host, and start an agent if none runs. Answered by HostOpened or HostClosed.
struct Open {
  int host = 0;
};
/// End what an earlier agent may have left on this host. Answered by HostSwept.
struct Sweep {
  int host = 0;
};
/// Reach the agent of this host again; it must be running already. Answered by HostReopened or
/// HostNotReopened.
struct Reopen {
  int host = 0;
};
/// The old stream works again: the Reopen is cancelled.
struct KeepStream {
  int host = 0;
};
/// A line for the user about a host that waits or is waited for. There are only a few such lines,
/// whatever hosts send.
struct Note {
  std::string text;
};
}  // namespace host_action

using ConnectionAction = std::variant<HostNews, host_action::Send, host_action::CloseHost,
                                      host_action::Open, host_action::Sweep, host_action::Reopen,
                                      host_action::KeepStream, host_action::Note>;

/// The connections of a task to the agents of its hosts, over all its attempts, and nothing else:
/// events in, actions out. Tracks which hosts are connected, since when others are not, and how the
/// clocks differ; decides when a silent host is lost, and when it is reached again. An event of one
/// host costs the same however many hosts there are.
class Connections {
 public:
  struct Timing {
    milliseconds heartbeat{2'000};  ///< between pings
    /// A host that is silent for this long is lost, or, with a reconnect window, reported to the
    /// user.
    milliseconds silence_limit{15'000};
    /// How long a host may be out of reach once its ranks were told to start; 0: not tolerated.
    milliseconds reconnect_window{0};
    /// How long the ranks go on when the launcher dies. If this is longer than the reconnect
    /// window, only this time proves that a silent host has ended its ranks; `for_ever`: nothing
    /// proves it.
    milliseconds launcher_wait = brief_launcher_wait;
    /// Whether a host counts as lost only when that proves that its ranks have ended; else once it
    /// is out of reach for the reconnect window.
    bool waits_for_proof = true;
    /// How long an agent that ends its ranks gives them, at most.
    milliseconds stop_time{0};
    milliseconds reconnect_after{5'000};  ///< of silence on an open stream
    /// Minimum time between the beginnings of two tries to reach a host again: before the second,
    /// the third, and all further tries.
    std::array<milliseconds, 3> reconnect_pauses{milliseconds(250), milliseconds(500),
                                                 milliseconds(1'000)};
    milliseconds reconnect_rest{100};   ///< minimum time after a failed try
    milliseconds login_limit{10'000};   ///< a try that takes longer is given up for another
    milliseconds steady_after{10'000};  ///< a stream that lasted this long is no failed try
    milliseconds broken_notice{5'000};  ///< the user is told of a stream broken for this long
    /// A lost host is tried to be reached anew for this long, or for the window if that is longer,
    /// with a pause after each try.
    milliseconds reach_limit{10'000};
    milliseconds reach_pause{1'000};
  };

  /// The first `wanted` hosts are being reached for the first time; the others only when they are
  /// wanted (`recover`).
  Connections(std::vector<std::string> names, Timing timing, int wanted);
  Connections(const std::vector<std::string>& names, Timing timing)
      : Connections(names, timing, static_cast<int>(names.size())) {}

  /// Takes one event; the actions are to be carried out in order.
  std::vector<ConnectionAction> on(const ConnectionEvent& event, Instant now);
  /// When the next Tick is due; nothing: no Tick is needed.
  std::optional<Instant> next_deadline() const { return checks_.next(); }

  /// Instead of reaching the host for the first time: this host has an agent that another process
  /// started, which has ended since. The host is reached as after an outage that begins now.
  /// `heard`: an instant before the host can have been lost. To be called before anything else.
  std::vector<ConnectionAction> adopt(int host, bool has_ranks, Instant heard, Instant now);

  /// The ranks of this host are being told to start: from now on its agent outlives its streams.
  void begin_ranks(int host, Instant now);
  /// The ranks have ended, and the host is kept for other attempts: its outages are no longer
  /// reported to the user.
  void end_ranks(int host) { of(host).has_ranks = of(host).is_wanted = false; }
  /// An attempt waits for this host: an outage is reported to the user, although no ranks run
  /// there.
  void want(int host, Instant now);
  /// Nothing more is expected of this host. An agent that would wait for this launcher is told not
  /// to.
  std::vector<ConnectionAction> let_go(int host);
  /// The same for a host whose stream is open: its agent is told to leave.
  std::vector<ConnectionAction> dismiss(int host);
  /// The obstacle that kept hosts from being reached may be gone: all hosts are tried now.
  std::vector<ConnectionAction> try_now(Instant now);
  /// Hosts that are out of reach are given up by their run at this instant, if not earlier.
  void give_up_by(std::optional<Instant> limit) { given_up_by_ = limit; }
  /// A host that was lost or let go is wanted again; or a new one is wanted for the first time.
  std::vector<ConnectionAction> recover(int host, Instant now);

  /// The host can be talked to.
  bool is_up(int host) const { return of(host).open; }
  /// The host can be talked to, or may become reachable without another call.
  bool is_expected(int host) const { return of(host).is_expected; }
  /// The host is out of reach, and may come back.
  bool is_away(int host) const { return of(host).outage.has_value(); }
  const std::string& name(int host) const { return of(host).name; }
  int count() const { return static_cast<int>(hosts_.size()); }
  /// As in HostOpened; empty before.
  const std::string& address(int host) const { return of(host).address; }
  const std::string& own_address(int host) const { return of(host).own_address; }
  const std::string& likely_own_address(int host) const { return of(host).likely_own_address; }
  const ClockOffset& clock(int host) const { return of(host).heartbeat.clock(); }
  Instant last_heard(int host) const { return of(host).heartbeat.last_heard(); }
  /// For a host that was lost or let go: from this instant on, none of the ranks that were started
  /// there can run any more, whether it answers or not; `Instant::max()`: nothing proves that.
  Instant ranks_end_by(int host) const { return of(host).ranks_end_by; }
  /// Since when the host is silent. Time in which the launcher slept (a suspended machine, Ctrl-Z)
  /// does not count.
  Instant silent_since(int host) const {
    return std::max(of(host).heartbeat.last_heard(), awake_since_);
  }
  /// The error for a host that has been silent until now.
  Error silence(int host, Instant now) const;
  /// When this process last woke from a long sleep.
  Instant awake_since() const { return awake_since_; }
  const Timing& timing() const { return timing_; }
  /// Being out of reach never makes a host lost, however long it lasts.
  bool waits_for_ever() const { return window() >= for_ever; }
  /// An agent that is out of reach never leaves by itself.
  bool do_agents_wait_for_ever() const { return timing_.launcher_wait >= for_ever; }

 private:
  /// A host that is out of reach, with an agent that outlives its streams.
  struct Outage {
    Instant since{0};           ///< last heard of, or the end of the stream
    bool is_silence = false;    ///< the stream had not ended
    bool is_opening = false;    ///< Reopen was not answered yet
    bool is_attaching = false;  ///< there is a new stream, and its Hello has not come yet
    Instant next_try{0};        ///< when the host is tried again, if this try fails
    std::string why;            ///< what is known, in words
    bool is_noted = false;      ///< it lasted long enough to be reported
    bool is_named = false;      ///< the user was told
  };
  /// A lost host that is wanted again.
  struct Recovery {
    Instant since{0};
    Instant until{0};                 ///< when the host is given up
    std::optional<Instant> next_try;  ///< nothing: a try is in progress
    std::string why = "it does not answer";
    bool is_noted = false;  ///< the user was told of the wait
  };
  struct Host {
    std::string name;
    std::string address;
    std::string own_address;
    std::string likely_own_address;
    bool is_expected = true;
    bool is_new = false;  ///< not wanted so far
    bool open = false;
    bool is_lasting = false;  ///< its agent was told to start ranks at least once
    bool has_ranks = false;
    Instant ranks_end_by{0};  ///< of the ranks that it had when it was closed
    bool is_wanted = false;   ///< by an attempt that is about to begin
    /// This process has not met its agent, which another process has started.
    bool is_unmet = false;
    Heartbeat heartbeat;
    Repetitions repetitions;
    bool has_said_hello = false;
    std::string boot_id;
    std::int64_t agent_pid = 0;
    std::optional<Outage> outage;
    std::optional<Recovery> recovery;
    int tries = 0;        ///< to reach the host again, since its stream was last steady
    Instant tried_at{0};  ///< when the last of them began
    bool was_resumed = false;
    bool is_answer_awaited = false;  ///< the first pong on this stream
    Instant resumed_at{0};           ///< when the stream was last made anew
  };

  void handle(const connection_event::HostOpened& event);
  void handle(const connection_event::HostSaid& event);
  void handle(const connection_event::HostPrinted& event);
  void handle(const connection_event::HostClosed& event);
  void handle(const connection_event::HostBrokeProtocol& event);
  void handle(const connection_event::HostReopened& event);
  void handle(const connection_event::HostNotReopened& event);
  void handle(const connection_event::HostSwept& event);
  void handle(const connection_event::Tick& event);

  void receive(int host, const message::Hello& m);
  void receive(int host, const message::NoAgent& m);
  void receive(int host, const message::LeftBehind& m);
  void receive(int host, const message::Pong& m);

  Host& of(int host) { return hosts_[static_cast<std::size_t>(host)]; }
  const Host& of(int host) const { return hosts_[static_cast<std::size_t>(host)]; }
  template <class Action>
  void act(Action action) {
    actions_.emplace_back(std::move(action));
  }
  void publish(HostNews news) { actions_.emplace_back(std::move(news)); }

  void ping(int host);
  void note_sign_of_life(int host);
  void schedule_check(int host);
  void check(int host);
  Instant next_check(const Host& host) const;
  milliseconds silence_limit(const Host& host) const;
  bool is_watched(const Host& host) const { return host.open || host.outage || host.recovery; }
  void count_repetition(int host);
  void close(int host);
  void fail(int host, Error why, message::LeftBehind left = {});

  milliseconds window() const {
    return fence_window(timing_.reconnect_window,
                        timing_.waits_for_proof ? timing_.launcher_wait : brief_launcher_wait);
  }
  /// The key of the experiment that determines the length of the window.
  const char* window_key() const {
    return timing_.reconnect_window < window() ? "on_launcher_loss" : "reconnect_window";
  }
  std::string waited_for(const Host& host) const;
  bool may_be_away(const Host& host) const;
  Instant lost_at(const Host& host) const;
  static Instant end_of(milliseconds window, Instant since);
  Instant fence_of(const Host& host) const;
  void fail_without_ranks(int host, Error why);
  Instant notice_at(const Host& host) const;
  Instant next_outage_check(const Host& host) const;
  void begin_outage(int host, Instant since, std::string why);
  void end_outage(int host);
  void drop_outage(Host& host);
  void check_outage(int host);
  void note_outage(int host);
  void reopen(int host);
  void try_later(Host& host);
  void resume(int host, const message::Hello& m);
  void out_of_reach(int host);

  void try_to_reach(int host);
  void not_reached(int host, const Error& why);
  void check_recovery(int host);

  Timing timing_;
  std::vector<Host> hosts_;
  int outages_named_ = 0;  ///< number of hosts whose outage was reported
  std::optional<Instant> given_up_by_;
  Instant awake_since_{0};  ///< when this process last woke from a long sleep
  HostChecks checks_;       ///< of all open hosts: once per heartbeat at least
  Instant now_{0};
  std::vector<ConnectionAction> actions_;
};

}  // namespace train
