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

/// How far an attempt is on one host. When the launcher says stop or is lost, or the agent itself
/// fails, it goes on to `killing`, or to the end where nothing was started.
enum class AgentAttemptState { waiting, checking, ready, running, killing, flushing, finished };
const StateTable<AgentAttemptState>& agent_attempt_states();

/// The decisions about one attempt on one host: its ranks, from Prepare to Finished. `Agent` has
/// several, and sees to what they share: the launcher, the context, the output. Each call leaves
/// what is to be done in `take_actions`; a message is to be sent where there is a launcher, and
/// those that a launcher must know are kept in `facts`.
class AgentAttempt {
 public:
  AgentAttempt(AttemptId of, message::Prepare prepare);

  AttemptId id() const { return of_; }
  const TrackedState<AgentAttemptState>& state() const { return state_; }
  /// What is told again of it after a reconnect, in order; bounded.
  std::vector<Message> facts() const;
  message::AttemptStatus status() const { return {of_, has_started_, own_stop_}; }
  const message::Prepare& prepared() const { return prepare_; }

  /// Ranks are started, run, or are being stopped.
  bool is_running() const { return state_ == AgentAttemptState::running; }
  /// There may be processes of it.
  bool has_processes() const { return is_running() || state_ == AgentAttemptState::killing; }
  bool is_finished() const { return state_ == AgentAttemptState::finished; }
  bool is_flushing() const { return state_ == AgentAttemptState::flushing; }
  bool is_waiting_for_context() const { return state_ == AgentAttemptState::waiting; }
  /// The first process of it that could not be ended.
  std::optional<message::Survivor> survivor() const {
    return survivors_.empty() ? std::nullopt : std::optional(survivors_.front());
  }
  /// What is known of it that has not ended, or could not be ended; without its user.
  std::vector<message::Survivor> processes_left() const;
  /// Its ranks were told to end.
  bool is_stopping() const { return stopped_at_.has_value(); }
  /// When ranks that are being stopped get the signal, or are killed.
  std::optional<Instant> next_deadline() const { return signal_at_ ? signal_at_ : kill_at_; }
  /// When the launcher that says Go is known to have heard from this host.
  Instant ready_at() const { return ready_at_; }
  /// What a rank that is to be started executes: its environment lacks only the host's session
  /// environment, and every at-launch value is filled in.
  RankCommand command_of(int rank) const;

  /// The context, where one was asked for, is in this directory.
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
  /// True where that was expected.
  bool on(const agent_event::TreeKilled& event);

  /// Until the ranks are told to start.
  void probe(const message::Probe& m);
  void take_leases();
  void drop_leases();
  void go(const message::Go& m);
  /// By now the launcher may say that these ranks are dead: none is started.
  void go_too_late(Instant now);
  void stop(const message::Stop& how, Instant now);
  /// The agent stops the ranks by itself, with the notice and the grace that the launcher gave for
  /// that. Where time is `left`, they are dead by its end: the grace takes of it what it may, the
  /// notice what is more.
  void stop_by_itself(message::OwnStop why, std::optional<milliseconds> left, Instant now);
  /// The agent has failed: any of the last actions may not have been carried out, so those that end
  /// the attempt are repeated.
  void fail(Instant now);
  /// There is no launcher any more: nothing is started, and what runs is stopped.
  void abandon(Instant now);
  /// Time has passed.
  void go_on_stopping(Instant now);
  /// All its output has been acknowledged.
  void output_is_written();
  /// Its end waits for that.
  bool awaits_output() const { return is_flushing() || owes_end_; }
  /// Whether the launcher that has attached lacks output of it: then its end, if it has one, is
  /// told again behind that.
  void owe_end(bool lacks_output) { owes_end_ = lacks_output && has_told_end_; }
  void pause_reading();
  void resume_reading();
  bool is_reading_paused() const { return is_reading_paused_; }
  /// Whether there is anything new about what its ranks use, and that, `most_usages` at a time.
  bool has_usage_to_tell() const { return has_processes() && !untold_usage_.empty(); }
  void tell_usage();
  /// The launcher that has attached knows nothing of it.
  void tell_usage_anew();

  std::vector<AgentAction> take_actions() { return std::exchange(actions_, {}); }

 private:
  enum class RankState { planned, starting, alive, ended };

  template <class Action>
  void act(Action action) {
    actions_.emplace_back(std::move(action));
  }
  void say(Message message);
  void state_fact(Message message);
  RankCommand complete(const RankCommand& command, int threads) const;
  void bind_ranks();
  std::size_t position_of(int rank) const;
  void tell_leases(std::vector<LeaseHolder> in_the_way);
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
  CpuShares cpu_shares_;  ///< of the ranks as they were prepared, once they are told to start
  std::map<int, RankState> ranks_;
  bool has_started_ = false;
  bool is_reading_paused_ = false;
  message::OwnStop own_stop_ = message::OwnStop::none;
  Instant ready_at_{0};
  std::optional<Instant> stopped_at_;  ///< when the ranks were first told to stop
  std::optional<Instant> signal_at_;   ///< while they have notice of the signal
  std::optional<Instant> kill_at_;
  std::vector<message::Survivor> survivors_;
  bool has_told_end_ = false;
  bool owes_end_ = false;
  std::vector<Message> facts_;
  std::optional<message::Leases> leases_;  ///< what was last told of them; nothing: not known
  std::size_t kept_error_files_ = 0;       ///< bytes of them in the facts
  std::map<int, RankUsage> usage_;         ///< of ranks that run
  std::set<int> untold_usage_;             ///< ranks
  std::vector<AgentAction> actions_;
};

}  // namespace train
