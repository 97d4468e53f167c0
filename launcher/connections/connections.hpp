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

/// What happens to the connections of a task. `host` is a node rank. Instants are the launcher's
/// clock.
namespace connection_event {
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
  std::uint64_t bytes = 0;  ///< that have arrived
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
  // As HostOpened has them. They count where nothing is known yet.
  std::string address = {};
  std::string own_address = {};
  std::string likely_own_address = {};
};
/// There is none. The old stream, if there was one, still stands.
struct HostNotReopened {
  int host = 0;
  Error why;
};
/// What Sweep asked for: nothing of an earlier agent is left there, or it is not known (`why`).
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

/// What becomes known of a host, for the attempt that runs there.
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
  std::uint64_t bytes = 0;  ///< 0: what has arrived before is not written down yet
};
/// The agent can be talked to again, after it was out of reach at some moment `away`. What was sent
/// to it before may be lost; what it has said of its attempts it says again.
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

/// What is to be done with a host, in order.
namespace host_action {
struct Send {
  int host = 0;
  Message message;
};
/// Close the stream to this host.
struct CloseHost {
  int host = 0;
};
/// Reach this host, and start an agent where none runs. Answered by HostOpened or HostClosed.
struct Open {
  int host = 0;
};
/// Have what an earlier agent may have left on this host ended. Answered by HostSwept.
struct Sweep {
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
/// A line for the user about what a host waits for, or is waited for. Few of them, whatever hosts
/// send.
struct Note {
  std::string text;
};
}  // namespace host_action

using ConnectionAction = std::variant<HostNews, host_action::Send, host_action::CloseHost,
                                      host_action::Open, host_action::Sweep, host_action::Reopen,
                                      host_action::KeepStream, host_action::Note>;

/// The connections of a task to the agents of its hosts, over all its attempts, and nothing else:
/// events in, actions out. Who is there, and since when not; how the clocks differ; when a host
/// that is silent is lost, and when it is reached again. An event of one host costs the same
/// however many hosts there are.
class Connections {
 public:
  struct Timing {
    milliseconds heartbeat{2'000};  ///< between pings
    /// A host that says nothing for so long is lost, or, where there is a reconnect window, told
    /// of.
    milliseconds silence_limit{15'000};
    /// How long a host may be out of reach once its ranks were told to start; 0: not at all.
    milliseconds reconnect_window{0};
    /// How long its ranks go on when the launcher dies. Where that is longer, nothing but this
    /// proves that a silent host has ended them; `for_ever`: nothing does.
    milliseconds launcher_wait = brief_launcher_wait;
    milliseconds reconnect_after{5'000};  ///< of silence on an open stream
    /// A try to reach a host again begins no sooner than this after the one before it began: the
    /// second, the third, and all others.
    std::array<milliseconds, 3> reconnect_pauses{milliseconds(250), milliseconds(500),
                                                 milliseconds(1'000)};
    milliseconds reconnect_rest{100};   ///< nor sooner than this after that one failed
    milliseconds login_limit{10'000};   ///< a try that takes so long is given up for another
    milliseconds steady_after{10'000};  ///< a stream that stood so long is no failed try
    milliseconds broken_notice{5'000};  ///< the user is told of a stream that is away so long
    /// A host that was lost is tried for so long to be reached anew, or for the window where that
    /// is longer, with a pause after each try.
    milliseconds reach_limit{10'000};
    milliseconds reach_pause{1'000};
  };

  /// The first `wanted` hosts are being reached for the first time; the others are not, until they
  /// are wanted (`reach_anew`).
  Connections(std::vector<std::string> names, Timing timing, int wanted);
  Connections(const std::vector<std::string>& names, Timing timing)
      : Connections(names, timing, static_cast<int>(names.size())) {}

  /// Takes one event; the actions are to be carried out in order.
  std::vector<ConnectionAction> on(const ConnectionEvent& event, Instant now);
  /// When a Tick is wanted, if at all.
  std::optional<Instant> next_deadline() const { return checks_.next(); }

  /// In place of being reached for the first time: this host has an agent, which another process
  /// has started that has ended since, and is reached as after an outage that begins now. `heard`
  /// is before it can have been lost. Before anything else.
  std::vector<ConnectionAction> adopt(int host, bool has_ranks, Instant heard, Instant now);

  /// The ranks of this host are being told to start: from here on its agent outlives its streams.
  void begin_ranks(int host, Instant now);
  /// They have ended, and the host is kept for others: it is no matter for the user any more.
  void end_ranks(int host) { of(host).has_ranks = of(host).is_wanted = false; }
  /// An attempt waits for this host: where it is out of reach, the user is told so, although no
  /// ranks are there.
  void want(int host, Instant now);
  /// Nothing more is expected of this host. An agent that would wait for this launcher to come back
  /// hears that it need not.
  std::vector<ConnectionAction> let_go(int host);
  /// The same for one that is open, whose agent is told to leave.
  std::vector<ConnectionAction> dismiss(int host);
  /// What has kept hosts from being reached may be over: none waits for its next try.
  std::vector<ConnectionAction> try_now(Instant now);
  /// Hosts that are out of reach will not be waited for any longer than that, by their run.
  void give_up_by(std::optional<Instant> limit) { given_up_by_ = limit; }
  /// A host that was lost, or let go, is wanted again; or one that was never wanted is.
  std::vector<ConnectionAction> reach_anew(int host, Instant now);

  /// The host can be talked to.
  bool is_up(int host) const { return of(host).open; }
  /// It can be, or it may come to that without another word.
  bool is_expected(int host) const { return of(host).is_expected; }
  /// It is out of reach, and may come back.
  bool is_away(int host) const { return of(host).outage.has_value(); }
  const std::string& name(int host) const { return of(host).name; }
  int count() const { return static_cast<int>(hosts_.size()); }
  /// As HostOpened has them; empty before.
  const std::string& address(int host) const { return of(host).address; }
  const std::string& own_address(int host) const { return of(host).own_address; }
  const std::string& likely_own_address(int host) const { return of(host).likely_own_address; }
  const ClockOffset& clock(int host) const { return of(host).heartbeat.clock(); }
  Instant last_heard(int host) const { return of(host).heartbeat.last_heard(); }
  /// What a launcher that slept (a suspended machine, Ctrl-Z) has not listened for does not count.
  Instant silent_since(int host) const {
    return std::max(of(host).heartbeat.last_heard(), awake_since_);
  }
  /// That a host has been silent until now.
  Error silence(int host, Instant now) const;
  /// When this process last woke from a long sleep.
  Instant awake_since() const { return awake_since_; }
  const Timing& timing() const { return timing_; }
  /// A host that is out of reach is not lost by that, however long it lasts.
  bool waits_for_ever() const { return window() >= for_ever; }

 private:
  /// A host with an agent that outlives its streams, and that is out of reach.
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
  /// A host that was lost, and is wanted again.
  struct Reach {
    Instant since{0};
    Instant until{0};                 ///< when it is given up
    std::optional<Instant> next_try;  ///< nothing: a try is on its way
    std::string why = "it does not answer";
    bool is_noted = false;  ///< the user was told that it is waited for
  };
  struct Host {
    std::string name;
    std::string address;
    std::string own_address;
    std::string likely_own_address;
    bool is_expected = true;
    bool is_new = false;  ///< it was never wanted
    bool open = false;
    bool is_lasting = false;  ///< its agent was told to start ranks at least once
    bool has_ranks = false;
    bool is_wanted = false;  ///< by an attempt that is about to begin
    bool is_unmet = false;   ///< another process has met its agent, and this one not yet
    Heartbeat heartbeat;
    Repetitions repetitions;
    bool has_said_hello = false;
    std::string boot_id;
    std::int64_t agent_pid = 0;
    std::optional<Outage> outage;
    std::optional<Reach> reach;
    int tries = 0;        ///< to reach it again, since its stream was last steady
    Instant tried_at{0};  ///< when the last of them began
    bool was_resumed = false;
    bool is_answer_awaited = false;  ///< the first on this stream
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
  void tell(HostNews news) { actions_.emplace_back(std::move(news)); }

  void ping(int host);
  void heard(int host);
  void look_again(int host);
  void check(int host);
  Instant next_check(const Host& host) const;
  milliseconds silence_limit(const Host& host) const;
  bool is_watched(const Host& host) const { return host.open || host.outage || host.reach; }
  void said_again(int host);
  void close(int host);
  void fail(int host, Error why, message::LeftBehind left = {});

  milliseconds window() const {
    return fence_window(timing_.reconnect_window, timing_.launcher_wait);
  }
  /// The key of the experiment that makes it so long.
  const char* window_key() const {
    return timing_.reconnect_window < window() ? "on_launcher_loss" : "reconnect_window";
  }
  std::string waited_for(const Host& host) const;
  bool may_be_away(const Host& host) const;
  Instant lost_at(const Host& host) const;
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
  void check_reach(int host);

  Timing timing_;
  std::vector<Host> hosts_;
  int outages_named_ = 0;  ///< how many hosts the user knows to be out of reach
  std::optional<Instant> given_up_by_;
  Instant awake_since_{0};  ///< when this process last woke from a long sleep
  HostChecks checks_;       ///< of all open hosts: once per heartbeat at least
  Instant now_{0};
  std::vector<ConnectionAction> actions_;
};

}  // namespace train
