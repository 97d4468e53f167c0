// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "launcher/agent/output_queue.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/ports/process_spawner.hpp"
#include "launcher/states/state_table.hpp"
#include "launcher/wire/message.hpp"
#include "launcher/wire/output_chunk.hpp"

namespace train {

/// A stream from a launcher: a number that no other one has had.
using LinkId = int;

/// What happens to an agent. Instants are its own clock.
namespace agent_event {
/// A stream to a launcher is over: it left, died, or its connection broke. Not told of one that the
/// agent or its driver has closed.
struct LinkDown {
  LinkId link = 0;
};
/// The first message on a link is an Attach, or the link is closed.
struct Received {
  LinkId link = 0;
  Message message;
};
/// The guard is gone, or the machine shuts down: nothing is waited for any more.
struct Dismissed {};
/// The host lacks the context, and has taken so many bytes of it so far; first 0.
struct ContextTaken {
  std::uint64_t bytes = 0;
};
/// A piece of the context has come.
struct ContextReceived {
  LinkId link = 0;
  std::string bytes;
};
/// A copy of the context is there, for this task alone.
struct ContextReady {
  std::string directory;  ///< absolute
};
struct ContextFailed {
  Error why;
};
/// What CheckHost found: nothing wrong, or the problems.
struct HostChecked {
  std::vector<Diagnostic> problems = {};
  std::vector<int> held_ports = {};
  std::string run_directory = {};
  /// Of the problems: `missing`, or `host` where the host itself is in trouble.
  ErrorClass error_class = ErrorClass::missing;
  HostGpus gpus = {};
};
struct RankStarted {
  int rank = 0;
  std::int64_t pid = 0;
};
struct RankNotStarted {
  int rank = 0;
  std::string reason;
  ErrorClass error_class = ErrorClass::missing;
};
/// A call of CheckHost or StartRank has not come back yet; comes again and again while it lasts.
struct Blocked {
  std::string call;
  milliseconds so_far{0};
};
/// Another user listens on a port that is held.
struct PortTaken {
  int port = 0;
  std::int64_t uid = 0;
};
/// An exception came where none is expected, while actions were carried out: some of them may not
/// have been.
struct Failed {
  std::string reason;
};
struct RankPrinted {
  int rank = 0;
  OutputStream stream = OutputStream::out;
  std::string_view bytes;  ///< valid during the call
};
/// The process of a rank has ended and what it had printed by then has been read.
struct RankEnded {
  int rank = 0;
  std::optional<int> code;
  std::optional<int> signal;
  bool dumped_core = false;
  Instant at{0};
  std::string error_file;
};
/// Every process of the task is gone, and every pipe has been read to its end.
struct TreeKilled {
  std::vector<message::Survivor> survivors;
};
/// Time has passed; sent at `Agent::next_deadline()` at the latest.
struct Tick {};
}  // namespace agent_event

using AgentEvent =
    std::variant<agent_event::LinkDown, agent_event::Received, agent_event::Dismissed,
                 agent_event::ContextTaken, agent_event::ContextReceived, agent_event::ContextReady,
                 agent_event::ContextFailed, agent_event::HostChecked, agent_event::RankStarted,
                 agent_event::RankNotStarted, agent_event::Blocked, agent_event::PortTaken,
                 agent_event::Failed, agent_event::RankPrinted, agent_event::RankEnded,
                 agent_event::TreeKilled, agent_event::Tick>;

/// What an agent wants done, in order.
namespace agent_action {
/// Send on this link, which stands for the launcher from now on.
struct UseLink {
  LinkId link = 0;
};
struct CloseLink {
  LinkId link = 0;
};
struct SendMessage {
  Message message;
};
struct SendOutput {
  std::shared_ptr<const OutputChunk> chunk;
  OutputPacking packing = OutputPacking::none;
};
/// Make a copy of the context for this task. Answer with ContextReady or ContextFailed; or, when it
/// is not on this host, with ContextTaken first and again for each TakeContext.
struct FindContext {
  Context context;
};
/// The next piece of the packed context.
struct TakeContext {
  std::string bytes;
};
/// Look whether every rank's working directory and program are there, and the interface that they
/// are told, count the GPUs, hold as many ports as asked, and write the files into the run
/// directory. Answer with HostChecked.
struct CheckHost {
  message::Prepare prepare;
};
/// Execute one rank, with what `Agent::command_of` says. Answer with RankStarted or RankNotStarted.
struct StartRank {
  int rank = 0;
};
/// The ranks are about to start: their servers must be able to listen on the held ports.
struct ReleasePorts {};
/// TERM to the process group of a rank.
struct TerminateRank {
  int rank = 0;
};
/// KILL to everything that descends from this agent, until nothing is left. RankEnded follows for
/// each rank that was alive, then TreeKilled.
struct KillTree {};
/// All ranks must be dead at this instant, even when the agent is not there to see to it; nothing:
/// there are none.
struct SetFence {
  std::optional<Instant> at;
};
/// Stop reading the ranks' pipes, or go on.
struct PauseReading {};
struct ResumeReading {};
/// The agent has nothing left to do; the process ends, and what it made on the host goes.
struct Leave {};
}  // namespace agent_action

using AgentAction =
    std::variant<agent_action::UseLink, agent_action::CloseLink, agent_action::SetFence,
                 agent_action::SendMessage, agent_action::SendOutput, agent_action::CheckHost,
                 agent_action::FindContext, agent_action::TakeContext, agent_action::StartRank,
                 agent_action::ReleasePorts, agent_action::TerminateRank, agent_action::KillTree,
                 agent_action::PauseReading, agent_action::ResumeReading, agent_action::Leave>;

/// Who the agent is, for its Hello.
struct AgentIdentity {
  std::string host_name;
  std::string boot_id;
  std::int64_t pid = 0;
};

/// How far the agent is. `agent_states` says what may follow what. When the launcher says stop or
/// is lost, or the agent itself fails, it goes on to `killing`, or to the end where nothing was
/// started.
enum class AgentState {
  waiting,
  fetching,
  checking,
  ready,
  running,
  killing,
  flushing,
  finished,
  gone
};
const StateTable<AgentState>& agent_states();

/// The decisions of the agent of one task on one host, and nothing else: events in, actions out.
class Agent {
 public:
  /// A launcher that is silent for so long is lost, where there is no reconnect window: its
  /// heartbeats come every two seconds.
  static constexpr milliseconds silence_limit{40'000};
  /// When a launcher's stream ends that was heard so recently, the launcher has died; else the
  /// network has.
  static constexpr milliseconds sign_of_life{4'000};
  /// How long the ranks go on after the death of their launcher: it may only have been the network.
  static constexpr milliseconds death_wait{5'000};

  explicit Agent(AgentIdentity identity, std::size_t output_capacity = OutputQueue::usual_capacity);

  /// Takes one event; the actions are to be carried out in order.
  std::vector<AgentAction> on(const AgentEvent& event, Instant now);
  /// When a Tick is wanted, if at all.
  std::optional<Instant> next_deadline() const;
  bool gone() const { return state_ == AgentState::gone; }
  /// What a rank that is to be started executes: its environment lacks only the host's session
  /// environment, and every at-launch value is filled in. Made when it is asked for, since the
  /// environments of many ranks can be long.
  RankCommand command_of(int rank) const;
  const TrackedState<AgentState>& state() const { return state_; }

 private:
  enum class RankState { planned, starting, alive, ended };

  void handle(const agent_event::Dismissed& event);
  void handle(const agent_event::LinkDown& event);
  void handle(const agent_event::Received& event);
  void handle(const agent_event::ContextTaken& event);
  void handle(const agent_event::ContextReceived& event);
  void handle(const agent_event::ContextReady& event);
  void handle(const agent_event::ContextFailed& event);
  void handle(const agent_event::HostChecked& event);
  void handle(const agent_event::RankStarted& event);
  void handle(const agent_event::RankNotStarted& event);
  void handle(const agent_event::Blocked& event);
  void handle(const agent_event::PortTaken& event);
  void handle(const agent_event::Failed& event);
  void handle(const agent_event::RankPrinted& event);
  void handle(const agent_event::RankEnded& event);
  void handle(const agent_event::TreeKilled& event);
  void handle(const agent_event::Tick& event);

  void attach(LinkId link, const message::Attach& m);
  /// Whether what comes on a link is the launcher's.
  bool is_heard(LinkId link);
  void receive(const message::Prepare& m);
  void receive(const message::Go& m);
  void receive(const message::Stop& m);
  void receive(const message::Acknowledge& m);
  void receive(const message::Ping& m);
  void receive(const message::Bye& m);
  template <class Other>
  void receive(const Other&) {}  // messages of the agent itself: nobody sends them here

  template <class Action>
  void act(Action action) {
    actions_.emplace_back(std::move(action));
  }
  void say(Message message);
  /// Says what is to be said again on every new connection.
  void state_fact(Message message);
  /// With a window, ranks that were started outlive a connection, and none outlives the fence.
  bool has_window() const;
  bool is_window_open() const;
  bool may_send_output() const;
  Instant fence_at() const;
  Instant last_call_at() const;
  bool is_awaited() const;
  void tell_fence();
  void watch_launcher();
  void check_host();
  void refuse(message::Refused refusal);
  void give_up_launcher();
  void stop_ranks(milliseconds grace);
  void kill_tree();
  void resume_reading();
  void after_rank_ended();
  void send_output();
  void leave();

  AgentIdentity identity_;
  TrackedState<AgentState> state_{agent_states()};
  std::optional<LinkId> link_;  ///< to the launcher
  std::uint64_t epoch_ = 0;     ///< of the last Attach
  std::uint64_t connection_ = 0;
  std::vector<Message> facts_;  ///< what was said that a launcher must know, in order; bounded
  std::size_t kept_error_files_ = 0;  ///< bytes of them in the facts
  bool has_started_ = false;
  bool has_given_up_ = false;  ///< the launcher, or it has us: nothing more is expected of it
  message::OwnStop own_stop_ = message::OwnStop::none;
  Instant attached_at_{0};
  Instant trusted_at_{0};  ///< the launcher has heard from us since; the fence is reckoned from it
  std::optional<Instant> told_fence_;
  std::optional<Instant> launcher_died_at_;
  message::Prepare prepare_;
  message::Go go_;
  std::string run_directory_;
  HostGpus gpus_;
  std::map<int, RankState> ranks_;
  bool reading_paused_ = false;
  std::optional<Instant> stopped_at_;  ///< when the ranks were first told to stop
  std::optional<Instant> kill_at_;
  Instant last_heard_{0};
  std::vector<message::Survivor> survivors_;
  OutputQueue output_;
  Instant now_{0};
  std::vector<AgentAction> actions_;
};

/// The environment of a rank with everything that only a launch can know filled in; without the
/// variables that are not to be set on hosts like this one.
std::vector<EnvironmentEntry> fill_in(std::vector<EnvironmentEntry> environment,
                                      const message::Go& go, const std::string& task_id,
                                      const std::string& run_directory, int rank,
                                      const HostGpus& gpus = {});

}  // namespace train
