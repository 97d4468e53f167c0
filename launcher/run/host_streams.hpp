// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launcher/connections/connections.hpp"
#include "launcher/connections/sweep_driver.hpp"
#include "launcher/connections/trial_hosts.hpp"
#include "launcher/frames/frame.hpp"
#include "launcher/output/output_sink.hpp"
#include "launcher/output/output_window.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/ports/timers.hpp"
#include "launcher/ports/transport.hpp"

namespace train {

/// The streams to the agents of a task, over all its trials and their attempts: links, frames, and
/// the windows and acknowledgements of output. Carries out what concerns one host; decides nothing.
/// `host` is a host of the task.
class HostStreams {
 public:
  /// The ports. All of them must outlive the streams.
  struct Ports {
    Timers& timers;
    Transport& transport;
    OutputSink& output;
  };
  /// Callbacks come from the ports, never from inside a call to the streams.
  struct Hooks {
    std::function<void(const ConnectionEvent&)> on_event;
    /// Converts an instant of a host's clock to the launcher's clock, in this attempt.
    std::function<Instant(AttemptId of, int host, Instant at, Instant now)> time_of;
    /// Output has come.
    std::function<void(const OutputChunk& chunk)> on_output = [](const OutputChunk&) {};
    /// The host's agent serves a later supervisor.
    std::function<void(int host, const message::Displaced& by)> on_displaced =
        [](int, const message::Displaced&) {};
  };

  /// The identity of this supervisor.
  struct Supervisor {
    std::uint64_t epoch = 1;
    std::string launcher = {};      ///< in words, which agents tell other launchers
    std::size_t hosts_at_once = 0;  ///< about as many send output at the same time
    /// A lost host may have an agent that would go on for ever: it is told to leave.
    bool ends_lost_agents = false;
  };

  HostStreams(Ports ports, std::vector<Host> hosts, std::string task_id, Hooks hooks,
              Supervisor supervisor);
  HostStreams(const HostStreams&) = delete;
  HostStreams& operator=(const HostStreams&) = delete;

  /// From now on, messages of hosts about this attempt are handled, and its output is taken. Agents
  /// are told to forget the previous attempt of the same trial, which must be over, as soon as its
  /// output is synced. It may be on other hosts than that.
  void begin_attempt(AttemptId of, const Trial& trial, const TrialHosts& hosts);
  /// Replaces the first `begin_attempt` of a trial: another process has begun the attempt.
  /// `positions`: by rank, how many bytes of its output are kept already, then of its metrics;
  /// empty: none.
  void adopt_attempt(AttemptId of, const Trial& trial, const TrialHosts& hosts,
                     std::vector<std::uint64_t> positions);

  /// Another process has seen the end of this trial; `last` was its last attempt.
  void adopt_end(AttemptId last) { ended_.insert_or_assign(last.trial, last.attempt); }
  /// Another process may have prepared attempts that were not recorded: their agents are told to
  /// end them, and messages about them are ignored.
  void expect_strays() { may_be_strays_ = true; }

  /// No attempt of this trial follows, and no host is asked for it again, unless it is begun again
  /// with the next attempt. Agents are told, at once or when they are connected again, to release
  /// its leases, and to forget its last attempt as soon as its output is synced. Later messages
  /// about it are ignored.
  void end_trial(int trial);

  void perform(const host_action::Open& action);
  void perform(const host_action::Reopen& action);
  void perform(const host_action::KeepStream& action) { drop(of(action.host).next); }
  void perform(const host_action::Sweep& action);
  void perform(const host_action::CloseHost& action);
  void perform(const host_action::Send& action);
  /// Does nothing if there is no stream.
  void send(int host, std::string frame);
  void send_shared(int host, const std::shared_ptr<const std::string>& frame);
  /// This host has broken the protocol: its messages are no longer handled.
  void break_protocol(int host, const Error& why);

  /// More chunks were written or synced: acknowledges them.
  void acknowledge_output();

  /// Whether the output of this host comes over a network.
  bool is_remote(int host) const { return of(host).is_remote; }
  /// What is known of the last link to this host that was opened.
  const LinkInfo& link(int host) const { return of(host).info; }
  /// The ranks of this host are told to start: if its stream ends by itself after that, its agent
  /// may have been killed.
  void begin_ranks(int host);
  /// Another process has told the ranks to start, and has ended since.
  void adopt_ranks(int host);
  /// Another process may have left an agent on this host, whose ranks have ended.
  void adopt_agent(int host) { of(host).presence = Presence::idle; }
  /// The hosts whose stream ended by itself after their ranks were told to start, and was not
  /// reopened.
  std::vector<int> broken_hosts() const;
  /// The hosts where something of the task may be left: ranks, unless the host has said that all
  /// their processes are gone; or, if agents wait indefinitely for another launcher
  /// (`agents_wait`), an agent that has not left and is not about to.
  std::vector<int> unsettled_hosts(bool agents_wait) const;

  /// Calls back once all dismissed agents have left, or have had a second for it, or `patience`
  /// from now; never from inside the call. A stream that is closed before its last messages were
  /// delivered loses them.
  void await_agents(std::function<void()> on_left, std::optional<nanoseconds> patience = {});
  /// Ends the wait for dismissed agents.
  void forget_agents();

  /// Ends all streams without a goodbye; no host is reached any more.
  void leave();

 private:
  /// A received chunk that is not acknowledged as synced yet.
  struct Received {
    std::uint64_t output_number = 0;  ///< the number that the sink gave it
    std::uint64_t connection = 0;     ///< the connection that it came on
    std::uint64_t chunk_number = 0;   ///< the number that the host gave it on that connection
    std::size_t cost = 0;
  };
  /// Links of a host are numbered in the order in which they were opened; 0: none.
  struct Numbered {
    std::unique_ptr<HostLink> link;
    std::uint64_t number = 0;
    bool is_attached = false;  ///< Attach was sent: nothing may be sent before it

    /// The link to the agent; null: none yet.
    HostLink* to_agent() const { return is_attached ? link.get() : nullptr; }
  };
  /// What a host may have of the task, as far as it has reported.
  enum class Presence {
    nothing,
    idle,   ///< an agent, without ranks and processes of theirs
    ranks,  ///< ranks, or processes that they have started
  };
  struct Stream {
    explicit Stream(std::size_t output_window) : window(output_window) {}

    Numbered now;
    Numbered next;  ///< replaces `now` once it is open
    std::uint64_t opened = 0;
    bool is_remote = true;
    LinkInfo info;
    OutputWindow window;
    bool is_due = false;            ///< an acknowledgement is due
    std::deque<Received> received;  ///< not written yet
    std::deque<Received> written;   ///< written, and not synced yet
    // Of the connection:
    std::uint64_t connection = 0;  ///< 1, 2, ...
    FrameDecoder decoder{FrameSender::agent};
    std::uint64_t last_chunk = 0;    ///< received
    std::uint64_t last_written = 0;  ///< acknowledged as written
    std::uint64_t last_synced = 0;
    std::uint64_t received_cost = 0;  ///< of all chunks
    std::uint64_t untold_bytes = 0;   ///< bytes of output that were not reported yet
    bool has_ranks = false;           ///< ranks were told to start
    Presence presence = Presence::nothing;
    bool is_broken = false;           ///< the stream ended by itself after that
    std::set<AttemptId> to_forget;    ///< attempts that are over, and that its agent still knows
    std::uint64_t forget_behind = 0;  ///< forget once this is synced; the sink's number
    std::set<AttemptId> finished;     ///< current or last attempts that its agent has finished
    bool was_away = false;            ///< out of reach at some time
    bool was_dismissed = false;       ///< its agent is told Bye, and must receive it
    Repetitions stale_messages;       ///< messages about attempts that are over
    std::unique_ptr<SweepDriver> sweep;
  };
  /// The output of an attempt: from where it comes, and how much was received.
  struct AttemptOutput {
    AttemptOutput(const Trial& trial, const TrialHosts& on);

    TrialHosts hosts;
    std::vector<int> first_ranks;  ///< by node rank, and after the last one the world size
    /// Bytes of each rank's output, then of each rank's metrics.
    std::vector<std::uint64_t> positions;

    int first_rank(int host) const { return first_ranks[place(hosts.node_of(host))]; }
    int end_of_ranks(int host) const { return first_ranks[place(hosts.node_of(host)) + 1]; }
    std::size_t place_of(int rank, bool is_of_metrics) const {
      return place(rank) + (is_of_metrics ? place(first_ranks.back()) : 0);
    }
    static std::size_t place(int number) { return static_cast<std::size_t>(number); }
  };
  /// A trial that was begun.
  struct TrialStreams {
    int attempt;        ///< the running attempt, or the last one
    int first_attempt;  ///< output of earlier attempts was kept by another process
    std::map<int, AttemptOutput> output = {};  ///< of the last attempts

    const TrialHosts& hosts() const { return output.at(attempt).hosts; }
  };
  /// The stream of an agent that was dismissed, until it has left.
  struct Leaving {
    Numbered stream;
    std::unique_ptr<Subscription> patience;
    std::unique_ptr<SweepDriver> sweep;  ///< tells it once more, over a connection of its own
  };

  Stream& of(int host) { return hosts_[static_cast<std::size_t>(host)]; }
  const Stream& of(int host) const { return hosts_[static_cast<std::size_t>(host)]; }
  LinkEvents events_of(int host, std::uint64_t number);
  void closed(int host, std::uint64_t number, const Error& why);
  void attach(int host);
  void reopened(int host, const LinkInfo& info);
  void swept(int host);
  std::unique_ptr<SweepDriver> make_sweep(int host, milliseconds limit,
                                          std::function<void()> on_over, bool says_goodbye);
  void drop_sweep(std::unique_ptr<SweepDriver>& sweep);
  bool is_known(AttemptId of) const;
  bool is_over(AttemptId of) const;
  bool is_stale(int host, AttemptId of) const;
  void end_leases(int host, int trial);
  void forget_later(int host, AttemptId of);
  std::uint64_t* position_of(int host, const OutputChunk& chunk);
  bool is_passed_over(AttemptId of) const;
  const Host& address_of(int host) const { return addresses_[static_cast<std::size_t>(host)]; }
  std::uint64_t credit_of(const Stream& stream) const;
  void received(int host, std::string_view bytes);
  void received(int host, const Frame& frame);
  void received_message(int host, Message message);
  void receive_stale(int host, AttemptId of, const Message& message);
  void met(int host, const message::Hello& hello);
  bool is_stray(AttemptId of) const { return may_be_strays_ && !is_known(of); }
  void received_output(int host, std::string_view payload);
  void forget(Stream& stream);
  void pass_over(int host, std::size_t cost);
  void keep(int host, std::uint64_t output_number, std::size_t cost);
  void acknowledge_output(Stream& host);
  /// A chunk of a host.
  struct Arrival {
    std::uint64_t output_number = 0;  ///< the sink's
    int host = 0;
  };
  void note_due(const Arrival& arrival);
  void drop(Numbered& link);
  void drop(Leaving& leaving);
  void clear_later();
  void await_leaving(int host);
  void leaves_late(int host);
  void has_left(int host);
  void report_left();

  Ports ports_;
  std::vector<Host> addresses_;  ///< of the hosts
  std::string task_id_;
  Hooks hooks_;
  std::vector<Stream> hosts_;
  std::map<int, TrialStreams> trials_;
  std::map<int, int> ended_;  ///< the last attempts of trials
  bool may_be_strays_ = false;
  // Over all hosts, so that acknowledging costs nothing for hosts without written output.
  std::deque<Arrival> unwritten_;
  std::deque<Arrival> unsynced_;
  std::vector<int> due_;
  std::uint64_t epoch_;
  std::string launcher_;
  bool ends_lost_agents_;
  std::vector<std::unique_ptr<HostLink>> closed_links_;  ///< destroyed outside of their callbacks
  std::vector<std::unique_ptr<SweepDriver>> ended_sweeps_;  ///< likewise
  std::unique_ptr<Subscription> closing_;
  std::map<int, Leaving> leaving_;  ///< by host
  bool has_left_ = false;           ///< this launcher has left
  std::function<void()> on_left_;
  std::unique_ptr<Subscription> left_notice_;
};

}  // namespace train
