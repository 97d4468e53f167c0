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
/// `host` is one of the task.
class HostStreams {
 public:
  /// How the world is reached. All outlive the streams.
  struct Ports {
    Timers& timers;
    Transport& transport;
    OutputSink& output;
  };
  /// Callbacks come from the ports, never from inside a call to the streams.
  struct Hooks {
    std::function<void(const ConnectionEvent&)> on_event;
    /// An instant of a host's clock on the launcher's, in this attempt.
    std::function<Instant(AttemptId of, int host, Instant at, Instant now)> time_of;
    /// Output has come.
    std::function<void(const OutputChunk& chunk)> on_output = [](const OutputChunk&) {};
    /// The host's agent serves a later supervisor.
    std::function<void(int host, const message::Displaced& by)> on_displaced =
        [](int, const message::Displaced&) {};
  };

  /// Who this is.
  struct Supervisor {
    std::uint64_t epoch = 1;
    std::string launcher = {};  ///< in words, for agents to tell others
  };

  HostStreams(Ports ports, std::vector<Host> hosts, std::string task_id, Hooks hooks,
              Supervisor supervisor);
  HostStreams(const HostStreams&) = delete;
  HostStreams& operator=(const HostStreams&) = delete;

  /// What hosts say of this attempt is heard, and its output taken, from now on. Agents are told to
  /// forget the one before of the same trial, which must be over, as soon as its output is synced.
  /// `trial` must outlive the streams, or be ended.
  void begin_attempt(AttemptId of, const Trial& trial, const TrialHosts& hosts);
  /// In place of the first: the attempt is one that another process has begun. `positions`: by
  /// rank, how much of its output is kept already, then how much of its metrics; empty: nothing is.
  void adopt_attempt(AttemptId of, const Trial& trial, const TrialHosts& hosts,
                     std::vector<std::uint64_t> positions);

  /// Another process has seen the end of this trial, whose last attempt that was.
  void adopt_end(AttemptId last) { ended_.insert_or_assign(last.trial, last.attempt); }
  /// That process may have prepared attempts that nobody knows of: their agents are told to end
  /// them, and what they say is passed over.
  void expect_strays() { may_be_strays_ = true; }

  /// Nothing follows of this trial, and no host is asked for it again, unless it is begun again
  /// with the next attempt. Agents are told at once, or when they are back, to let go of what it
  /// holds of their hosts, and to forget its last attempt as soon as its output is synced; what
  /// still comes of it is passed over.
  void end_trial(int trial);

  void perform(const host_action::Open& action);
  void perform(const host_action::Reopen& action);
  void perform(const host_action::KeepStream& action) { drop(of(action.host).next); }
  void perform(const host_action::Sweep& action);
  void perform(const host_action::CloseHost& action);
  void perform(const host_action::Send& action);
  /// Nothing, where there is no stream.
  void send(int host, std::string frame);
  void send_shared(int host, const std::shared_ptr<const std::string>& frame);
  /// What this host says next is not waited for: it has broken the protocol.
  void break_protocol(int host, const Error& why);

  /// More chunks were written or synced: they are acknowledged.
  void acknowledge_output();

  /// Whether its output comes over a network.
  bool is_remote(int host) const { return of(host).is_remote; }
  /// The ranks of this host are told to start: an agent whose stream ends by itself after that may
  /// have been killed.
  void begin_ranks(int host);
  /// Another process has told them to, and has ended since.
  void adopt_ranks(int host);
  /// Another process has left an agent there, perhaps, whose ranks have ended.
  void adopt_agent(int host) { of(host).presence = Presence::idle; }
  /// The hosts whose stream has ended so, and was not made anew.
  std::vector<int> broken_hosts() const;
  /// The hosts where something of the task may be left: ranks, of which the host has not said that
  /// all their processes are gone; or, where agents wait for another launcher without an end
  /// (`agents_wait`), one that has not left, nor is about to.
  std::vector<int> unsettled_hosts(bool agents_wait) const;

  /// Calls back once all agents that were dismissed have left, or have had a second for it; never
  /// from inside. A stream that ends before its last words were delivered takes them along.
  void await_agents(std::function<void()> on_left);
  /// Nobody waits for them any more.
  void forget_agents();

  /// All streams end without a word, and no host is reached any more.
  void leave();

 private:
  /// A chunk that was received, and not acknowledged as synced yet.
  struct Received {
    std::uint64_t output_number = 0;  ///< the sink's
    std::uint64_t connection = 0;     ///< that it came on
    std::uint64_t chunk_number = 0;   ///< the host's, on that connection
    std::size_t cost = 0;
  };
  /// Links of a host are numbered in the order in which they were opened; 0: none.
  struct Numbered {
    std::unique_ptr<HostLink> link;
    std::uint64_t number = 0;
    bool is_attached = false;  ///< Attach was sent: before it nothing may be

    /// Over which its agent hears; null: none.
    HostLink* to_agent() const { return is_attached ? link.get() : nullptr; }
  };
  /// What a host may have of the task, as far as it has said.
  enum class Presence {
    nothing,
    idle,   ///< an agent, whose ranks and all that they have started are gone
    ranks,  ///< more than that
  };
  struct Stream {
    explicit Stream(std::size_t output_window) : window(output_window) {}

    Numbered now;
    Numbered next;  ///< to take its place once it is open
    std::uint64_t opened = 0;
    bool is_remote = true;
    OutputWindow window;
    bool is_due = false;            ///< for an acknowledgement
    std::deque<Received> received;  ///< what is not written yet
    std::deque<Received> written;   ///< what is, and not synced yet
    // Of the connection:
    std::uint64_t connection = 0;  ///< 1, 2, ...
    FrameDecoder decoder{FrameSender::agent};
    std::uint64_t last_chunk = 0;    ///< received
    std::uint64_t last_written = 0;  ///< acknowledged as such
    std::uint64_t last_synced = 0;
    std::uint64_t received_cost = 0;  ///< of all chunks
    std::uint64_t untold_bytes = 0;   ///< of output that has arrived
    bool has_ranks = false;           ///< it was told to start some
    Presence presence = Presence::nothing;
    bool is_broken = false;           ///< its stream ended by itself after that
    std::set<AttemptId> to_forget;    ///< that are over, and that its agent still knows
    std::uint64_t forget_behind = 0;  ///< once this is synced; the sink's number
    std::set<AttemptId> finished;     ///< that run, or are the last; their agent is done with them
    bool was_dismissed = false;       ///< its agent is told Bye, and has to hear it
    Repetitions stale_messages;       ///< what it says of attempts that are over
    std::unique_ptr<SweepDriver> sweep;
  };
  /// A trial that was begun.
  struct TrialStreams {
    const Trial& trial;
    TrialHosts hosts;
    int attempt;        ///< the one that runs, or was the last
    int first_attempt;  ///< what comes of attempts before it was kept by another process
    /// Of the last attempts: bytes received of what each rank has printed, then of the metrics of
    /// each.
    std::map<int, std::vector<std::uint64_t>> positions = {};

    // The metrics of all ranks come behind what they print.
    std::size_t place_of(int rank, bool is_of_metrics) const {
      return static_cast<std::size_t>(rank) + (is_of_metrics ? trial.ranks.size() : 0);
    }
    std::vector<std::uint64_t>& positions_in(int number) {
      auto& found = positions[number];
      found.resize(2 * trial.ranks.size());
      return found;
    }
  };
  /// The stream of an agent that was dismissed, until it has left.
  struct Leaving {
    Numbered stream;
    std::unique_ptr<Subscription> patience;
  };

  Stream& of(int host) { return hosts_[static_cast<std::size_t>(host)]; }
  const Stream& of(int host) const { return hosts_[static_cast<std::size_t>(host)]; }
  LinkEvents events_of(int host, std::uint64_t number);
  void closed(int host, std::uint64_t number, const Error& why);
  void attach(int host);
  void reopened(int host, const LinkInfo& info);
  void swept(int host);
  void drop_sweep(Stream& stream);
  bool is_known(AttemptId of) const;
  bool is_over(AttemptId of) const;
  bool is_stale(int host, AttemptId of) const;
  void end_leases(int host, int trial);
  void forget_later(int host, AttemptId of);
  std::uint64_t* position_of(int host, const OutputChunk& chunk);
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
  void clear_later();
  void await_leaving(int host);
  void has_left(int host);
  void tell_left();

  Ports ports_;
  std::vector<Host> addresses_;  ///< of the hosts
  std::string task_id_;
  Hooks hooks_;
  std::vector<Stream> hosts_;
  std::map<int, TrialStreams> trials_;
  std::map<int, int> ended_;  ///< the last attempts of trials
  bool may_be_strays_ = false;
  // Of all hosts, so that acknowledging costs nothing for those of which nothing was written.
  std::deque<Arrival> unwritten_;
  std::deque<Arrival> unsynced_;
  std::vector<int> due_;
  std::uint64_t epoch_;
  std::string launcher_;
  std::vector<std::unique_ptr<HostLink>> closed_links_;  ///< destroyed outside of their callbacks
  std::vector<std::unique_ptr<SweepDriver>> ended_sweeps_;  ///< likewise
  std::unique_ptr<Subscription> closing_;
  std::map<int, Leaving> leaving_;  ///< by host
  bool has_left_ = false;           ///< this launcher
  std::function<void()> on_left_;
  std::unique_ptr<Subscription> left_notice_;
};

}  // namespace train
