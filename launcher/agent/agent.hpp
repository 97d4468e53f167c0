// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launcher/agent/agent_attempt.hpp"
#include "launcher/agent/agent_events.hpp"
#include "launcher/agent/output_queue.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/states/state_table.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// Who the agent is, for its Hello.
struct AgentIdentity {
  std::string host_name;
  std::string boot_id;
  std::int64_t pid = 0;
  std::int64_t uid = 0;  ///< of its ranks as well
};

/// The relation of the agent to its supervisor. The states of its attempts are `AgentAttemptState`.
enum class AgentState { waiting, serving, abandoned, gone };
const StateTable<AgentState>& agent_states();

/// The decisions of the agent of one task on one host, and nothing else: events in, actions out. It
/// serves any number of attempts, `most_attempts` at once: those of one trial one after the other,
/// those of several trials in parallel. A message about a known attempt is idempotent: repeating it
/// changes nothing.
class Agent {
 public:
  /// Without a reconnect window, a supervisor that is silent for this long is lost. Its heartbeats
  /// come every two seconds.
  static constexpr milliseconds silence_limit = longest_silence_of_launcher;
  /// If the supervisor's stream ends within this time after its last message, the supervisor has
  /// died; otherwise the network has failed.
  static constexpr milliseconds sign_of_life{4'000};

  /// When ranks may outlive any supervisor: the agent leaves this long after the last rank has
  /// ended or the supervisor was last heard, whichever is later. By then no supervisor is expected
  /// to fetch the output.
  static constexpr std::chrono::hours idle_limit{7 * 24};

  /// Once the agent is dismissed and nothing runs any more, it waits this long for the supervisor's
  /// goodbye.
  static constexpr milliseconds dismissal_limit{5'000};
  /// Longest wait in all, from the dismissal on, for a supervisor that has not taken all output, or
  /// is out of reach and may come back. A machine that shuts down kills the remaining processes
  /// after 90 s.
  static constexpr milliseconds longest_dismissal{60'000};

  /// A kill that has not finished after this time hangs: it is longer than the driver itself tries.
  static constexpr milliseconds kill_patience{30'000};

  explicit Agent(AgentIdentity identity, std::size_t output_capacity = OutputQueue::usual_capacity);

  /// Takes one event; the actions are to be carried out in order.
  std::vector<AgentAction> on(const AgentEvent& event, Instant now);
  /// When the next Tick is due; nothing: no Tick is needed.
  std::optional<Instant> next_deadline() const;
  bool gone() const { return state_ == AgentState::gone; }
  /// What a rank executes when it is started: its environment lacks only the host's session
  /// environment, and every at-launch value is filled in. Computed on each call, since the
  /// environments of many ranks can be long.
  RankCommand command_of(AttemptId of, int rank) const;
  const TrackedState<AgentState>& state() const { return state_; }
  /// The attempts that were prepared or stopped, and not forgotten.
  const std::map<AttemptId, AgentAttempt>& attempts() const { return attempts_; }

 private:
  /// State of the context of the task.
  enum class ContextState { unknown, fetching, there, failed };

  void handle(const agent_event::Dismissed& event);
  void handle(const agent_event::LinkDown& event);
  void handle(const agent_event::Received& event);
  void handle(const agent_event::ContextTaken& event);
  void handle(const agent_event::ContextReceived& event);
  void handle(const agent_event::ContextReady& event);
  void handle(const agent_event::ContextFailed& event);
  void handle(const agent_event::HostChecked& event);
  void handle(const agent_event::LeasesTried& event) { pass_to_attempt(event); }
  void handle(const agent_event::HostsProbed& event) { pass_to_attempt(event); }
  void handle(const agent_event::RankStarted& event) { pass_to_attempt(event); }
  void handle(const agent_event::RankNotStarted& event) { pass_to_attempt(event); }
  void handle(const agent_event::Blocked& event) { pass_to_attempt(event); }
  void handle(const agent_event::NoStopFile& event) { pass_to_attempt(event); }
  void handle(const agent_event::PortTaken& event) { pass_to_attempt(event); }
  void handle(const agent_event::Failed& event);
  void handle(const agent_event::RankPrinted& event);
  void handle(const agent_event::RankEnded& event);
  void handle(const agent_event::RanksMeasured& event) { pass_to_attempt(event); }
  void handle(const agent_event::RanksSeen& event) { pass_to_attempt(event); }
  void handle(const agent_event::TreeKilled& event);
  void handle(const agent_event::Spooled& event);
  void handle(const agent_event::Tick& event);

  void attach(LinkId link, const message::Attach& m);
  void refuse(LinkId link, const message::Attach& m);
  bool is_stuck() const;
  message::LeftBehind left_behind() const;
  /// Whether a message on this link comes from the current supervisor.
  bool is_heard(LinkId link);
  void receive(const message::Prepare& m);
  void receive(const message::Probe& m) { pass_to_attempt(m); }
  void receive(const message::LookAtRanks& m) { pass_to_attempt(m); }
  void receive(const message::TakeLeases& m) { pass_to_attempt(m); }
  void receive(const message::DropLeases& m);
  void receive(const message::Go& m);
  void receive(const message::Stop& m);
  void receive(const message::Forget& m);
  void receive(const message::Acknowledge& m);
  void receive(const message::Ping& m);
  void receive(const message::Bye& m);
  template <class Other>
  void receive(const Other&) {}  // messages that only agents send: ignored

  template <class Action>
  void act(Action action) {
    actions_.emplace_back(std::move(action));
  }
  void send(Message message);

  AgentAttempt* find(AttemptId of);
  template <class Event>
  void pass_to_attempt(const Event& event) {
    if (AgentAttempt* attempt = find(event.of)) {
      attempt->on(event);
      take_actions(*attempt);
    }
  }
  /// Moves the attempt's actions to the agent's; drops its messages while there is no supervisor.
  void take_actions(AgentAttempt& attempt);
  std::optional<std::string> leftovers_of(int trial) const;
  /// Why an attempt cannot begin now beside the existing ones; nothing: it can.
  std::optional<std::string> reason_against(AttemptId of) const;
  void provide_context(AgentAttempt& attempt);
  bool is_context_awaited() const;
  bool is_context_awaited_beside(const AgentAttempt& attempt) const;
  bool is_any_running() const;
  bool has_processes() const;

  /// With a window, started ranks outlive a connection; no rank outlives the fence.
  bool has_window() const;
  bool has_fence() const { return has_window() && window_ < for_ever; }
  bool is_window_open() const;
  bool may_send_output() const;
  Instant fence_at() const;
  Instant idle_end() const { return std::max(idle_since_, last_heard_) + idle_limit; }
  Instant last_call_of(const AgentAttempt& attempt) const;
  bool is_awaited() const;
  void send_fence();
  void watch_supervisor();
  void watch_attempt(AgentAttempt& attempt);
  void give_up_supervisor();
  void fail_attempts(const std::string& reason);
  Instant dismissal_end() const;
  bool has_unsent_news() const;
  void send_output();
  void send_usage(const message::Ping& m);
  void send_facts();
  void send_blocked();
  void leave();

  AgentIdentity identity_;
  TrackedState<AgentState> state_{agent_states()};
  std::map<AttemptId, AgentAttempt> attempts_;
  std::map<int, int> newest_;  ///< newest attempt of each trial, forgotten ones included
  std::set<int> holding_;      ///< trials that may hold leases of the host
  ContextState context_ = ContextState::unknown;
  std::string context_directory_;
  std::optional<LinkId> link_;  ///< to the supervisor
  std::uint64_t epoch_ = 0;     ///< of the last Attach
  std::uint64_t connection_ = 0;
  std::string supervisor_;  ///< its name for itself
  std::optional<message::AgentFailed> failure_;
  bool has_started_ = false;       ///< some attempt was told to start
  milliseconds window_{0};         ///< `fence_window` of the last Prepare
  milliseconds launcher_wait_{0};  ///< of the last Prepare
  OutputPacking output_packing_ = OutputPacking::none;
  Instant attached_at_{0};
  /// The supervisor has heard from this agent since then; the fence counts from it.
  Instant trusted_at_{0};
  std::optional<Instant> sent_fence_;
  std::optional<Instant> death_at_;  ///< the supervisor has died: waited for until then
  Instant killed_at_{0};             ///< when an attempt was last told to be killed
  Instant idle_since_{0};            ///< when the last processes ended
  Instant all_taken_at_{0};          ///< when the supervisor last had all output
  std::optional<Instant> dismissed_at_;
  bool has_reported_blocked_ = false;
  std::optional<Instant> usage_sent_at_;  ///< on this connection
  Instant last_heard_{0};
  OutputQueue output_;
  Instant now_{0};
  std::vector<AgentAction> actions_;
};

}  // namespace train
