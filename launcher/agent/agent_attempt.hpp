// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launcher/agent/agent_events.hpp"
#include "launcher/agent/cpu_binding.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/states/state_table.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// How far an attempt is on one host. When the supervisor says stop or is lost, or the agent itself
/// fails, the attempt goes to `killing`, or straight to the end if nothing was started.
enum class AgentAttemptState { waiting, checking, ready, running, killing, flushing, finished };
const StateTable<AgentAttemptState>& agent_attempt_states();

/// The decisions about one attempt on one host: its ranks, from Prepare to Finished. `Agent` has
/// several attempts and handles what they share: the supervisor, the context, the output. Each call
/// leaves its actions in `take_actions`. Messages are sent only while there is a supervisor; those
/// that a supervisor must know are also kept in `facts`.
class AgentAttempt {
 public:
  AgentAttempt(AttemptId of, message::Prepare prepare);

  AttemptId id() const { return of_; }
  const TrackedState<AgentAttemptState>& state() const { return state_; }
  /// The messages that are repeated after a reconnect, in order; bounded.
  std::vector<Message> facts() const;
  message::AttemptStatus status() const { return {of_, has_started_, own_stop_}; }
  const message::Prepare& prepared() const { return prepare_; }

  /// Ranks are started, run, or are being stopped.
  bool is_running() const { return state_ == AgentAttemptState::running; }
  /// The attempt may have processes.
  bool has_processes() const { return is_running() || state_ == AgentAttemptState::killing; }
  bool is_finished() const { return state_ == AgentAttemptState::finished; }
  bool is_flushing() const { return state_ == AgentAttemptState::flushing; }
  bool is_waiting_for_context() const { return state_ == AgentAttemptState::waiting; }
  /// The first process of the attempt that could not be killed.
  std::optional<message::Survivor> survivor() const {
    return survivors_.empty() ? std::nullopt : std::optional(survivors_.front());
  }
  /// The known processes that have not ended, or could not be killed; without their user.
  std::vector<message::Survivor> processes_left() const;
  /// The ranks were told to end.
  bool is_stopping() const { return stopped_at_.has_value(); }
  /// While ranks are being stopped: when they get the signal, or are killed.
  std::optional<Instant> next_deadline() const { return signal_at_ ? signal_at_ : kill_at_; }
  /// When this host became ready: a supervisor that says Go is known to have heard from it then.
  Instant ready_at() const { return ready_at_; }
  /// What a rank executes when it is started: its environment lacks only the host's session
  /// environment, and every at-launch value is filled in.
  RankCommand command_of(int rank) const;

  /// Begins the check. The context, if one was asked for, is in this directory.
  void begin_check(const std::string& context_directory);
  void refuse(message::Refused refusal);
  void on(const agent_event::HostChecked& event, Instant now);
  void on(const agent_event::LeasesTried& event);
  void on(const agent_event::HostsProbed& event);
  void on(const agent_event::RankStarted& event);
  void on(const agent_event::RankNotStarted& event);
  void on(const agent_event::Blocked& event);
  void on(const agent_event::NoStopFile& event);
  void on(const agent_event::PortTaken& event);
  void on(const agent_event::RankEnded& event);
  void on(const agent_event::RanksMeasured& event);
  void on(const agent_event::RanksSeen& event);
  /// True if the event was expected.
  bool on(const agent_event::TreeKilled& event);

  /// These have an effect only until the ranks are told to start.
  void on(const message::Probe& m);
  void on(const message::TakeLeases& m);
  void drop_leases();
  void go(const message::Go& m);
  /// Has an effect only while ranks run.
  void on(const message::LookAtRanks& m);
  /// Go came too late: the supervisor may already have declared these ranks dead, so none is
  /// started.
  void go_too_late(Instant now);
  void stop(const message::Stop& how, Instant now);
  /// The agent stops the ranks by itself, with the notice and grace that the supervisor gave for
  /// that. If time is `left`, the ranks are dead by its end: the grace takes as much of it as it
  /// may, the notice gets the rest.
  void stop_by_itself(message::OwnStop why, std::optional<milliseconds> left, Instant now);
  /// The agent has failed: the last actions may not have been carried out, so those that end the
  /// attempt are repeated.
  void fail(Instant now);
  /// There is no supervisor any more: nothing is started, and running ranks are stopped.
  void abandon(Instant now);
  /// Time has passed: sends the signal or kills when due.
  void go_on_stopping(Instant now);
  /// All its output has been acknowledged.
  void output_is_written();
  /// The end of the attempt is told only after its output is written.
  bool awaits_output() const { return is_flushing() || must_send_end_again_; }
  /// `lacks_output`: the supervisor that has attached lacks output of this attempt. Then the end,
  /// if there was one, is told again after that output.
  void require_end_again(bool lacks_output) {
    must_send_end_again_ = lacks_output && has_sent_end_;
  }
  void pause_reading();
  void resume_reading();
  bool is_reading_paused() const { return is_reading_paused_; }
  /// Whether the ranks' usage has changed since it was last told; `send_usage` tells up to
  /// `most_usages` ranks at a time.
  bool has_unsent_usage() const { return has_processes() && !unsent_usage_.empty(); }
  void send_usage();
  /// The supervisor that has attached knows no usage yet: all of it is told again.
  void resend_usage();

  std::vector<AgentAction> take_actions() { return std::exchange(actions_, {}); }

 private:
  enum class RankState { planned, starting, alive, ended };

  template <class Action>
  void act(Action action) {
    actions_.emplace_back(std::move(action));
  }
  void send(Message message);
  void state_fact(Message message);
  RankCommand complete(const RankCommand& command, int threads) const;
  void bind_ranks();
  void find_gpus_of_ranks();
  std::size_t position_of(int rank) const;
  void send_leases(std::vector<LeaseHolder> blockers);
  void finish();
  message::Stop usual_stop() const { return {prepare_.stop_grace, prepare_.stop_notice, of_}; }
  void stop_ranks(const message::Stop& how, Instant now);
  void signal_ranks();
  void kill_tree();
  void after_rank_ended();

  AttemptId of_;
  TrackedState<AgentAttemptState> state_{agent_attempt_states()};
  message::Prepare prepare_;
  message::Go go_;
  std::string run_directory_;
  HostGpus gpus_;
  CpuTopology cpus_;
  CpuShares cpu_shares_;  ///< in the order of the prepared ranks; set when they are told to start
  GpusOfRanks gpus_of_ranks_;  ///< likewise
  std::map<int, RankState> ranks_;
  bool has_started_ = false;
  bool is_reading_paused_ = false;
  message::OwnStop own_stop_ = message::OwnStop::none;
  Instant ready_at_{0};
  std::optional<Instant> stopped_at_;  ///< when the ranks were first told to stop
  std::optional<Instant> signal_at_;   ///< while their notice runs
  std::optional<Instant> kill_at_;
  std::vector<message::Survivor> survivors_;
  bool has_sent_end_ = false;
  bool must_send_end_again_ = false;
  std::vector<Message> facts_;
  std::optional<message::Leases> leases_;  ///< last told; nothing: not known
  std::size_t kept_error_files_ = 0;       ///< bytes of error files in the facts
  std::map<int, RankUsage> usage_;         ///< of running ranks
  std::set<int> unsent_usage_;             ///< ranks
  std::vector<AgentAction> actions_;
};

}  // namespace train
