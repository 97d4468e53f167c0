// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/states/state_table.hpp"

namespace train {

/// The exit code of a rank by which a script says that its hyperparameters make no sense: another
/// attempt would end in the same way.
inline constexpr int invalid_hyperparameters_code = 80;

/// How an attempt ended, as far as it matters for another one.
struct AttemptEnd {
  bool succeeded = false;
  bool any_started = false;     ///< at least one rank ran
  bool left_processes = false;  ///< some could not be killed
  bool is_hopeless = false;     ///< a log policy has found a line that says so
  bool is_unrecorded = false;   ///< the journal cannot be written any more
  int exit_code = 0;            ///< of the rank that failed first; 128 + signal; 0: it was no rank

  bool operator==(const AttemptEnd&) const = default;
};
AttemptEnd end_of(const RunOutcome& outcome);

/// What follows an attempt, and why.
enum class Sequel {
  restart,                  ///< another attempt
  succeeded,                ///< nothing: all is done
  stopped,                  ///< nothing: the user has asked for the end, or its time is over
  never_started,            ///< nothing: not even the first attempt could start a rank
  invalid_hyperparameters,  ///< nothing: it would fail again
  hopeless,                 ///< nothing: a log policy says that it would fail again
  unrecorded,               ///< nothing: an attempt that no journal has might be one too many
  processes_left,           ///< nothing: an old process would run beside a new one
  no_restarts_left,         ///< nothing: that was the last one
};
/// What follows the attempt after so many restarts when the user has or has not asked for the end.
Sequel sequel_of(int restarts, const AttemptEnd& end, bool is_stopped, int max_restarts);

/// How far an attempt of a task is. `attempt_states` says what may follow what.
enum class AttemptState { waiting, running, failing, over, cancelled };
const StateTable<AttemptState>& attempt_states();

/// What happens to a task. Instants are the launcher's clock.
namespace task_event {
/// The first attempt may begin; or the one that is waited for has begun, as a journal says.
struct Begin {};
/// The ranks of the attempt that runs are about to be told to start.
struct RanksStarting {};
/// Something has failed in the attempt that runs: it is being stopped.
struct AttemptFailing {};
/// The attempt that ran is over: nothing of it is left on any host that said so, and the others are
/// looked at before ranks are started there again.
struct AttemptOver {
  AttemptEnd end;
};
/// The user wants everything to end, by this signal; or the time of the task is over, and the
/// driver has begun to stop it (`runtime_over`).
struct StopRequested {
  int signal = 0;
};
/// Time has passed; sent at `Task::next_deadline()` at the latest.
struct Tick {};
}  // namespace task_event

using TaskEvent =
    std::variant<task_event::Begin, task_event::RanksStarting, task_event::AttemptFailing,
                 task_event::AttemptOver, task_event::StopRequested, task_event::Tick>;

/// What a task wants done, in order.
namespace task_action {
/// Run the plan as attempt `number` (from 0).
struct BeginAttempt {
  int number = 0;
};
/// Another attempt begins in `delay`: restart `number` (from 1) of `of`.
struct AnnounceRestart {
  int number = 0;
  int of = 0;
  nanoseconds delay{0};
};
/// The task has had its time: it is to be stopped like by a user, with `runtime_over`.
struct EndRuntime {};
/// No further attempt: the last one's outcome is the task's, unless a signal has ended the wait for
/// another.
struct End {
  Sequel why = Sequel::succeeded;
  std::optional<int> signal = {};
};
}  // namespace task_action

using TaskAction = std::variant<task_action::BeginAttempt, task_action::AnnounceRestart,
                                task_action::EndRuntime, task_action::End>;

/// The decisions about the attempts of a task, and nothing else: events in, actions out. One trial;
/// its attempts run one after the other, each on all hosts of the plan. The same events at the same
/// instants give the same actions and the same state.
class Task {
 public:
  struct Rules {
    int max_restarts = 0;  ///< at most so many attempts after the first
    /// Before the first restart, from the failure; twice as long before each further one.
    milliseconds restart_delay{1'000};
    milliseconds longest_delay{60'000};
    std::optional<milliseconds> max_runtime = {};  ///< from the first start of ranks; nothing: any
  };

  /// `first`: the number of its first attempt; those before it were another task's, of the same
  /// trial, which has never started a rank.
  explicit Task(Rules rules, int first = 0) : rules_(rules), first_(first) {}
  /// As an experiment has them. Of a search the time is that of all trials, which none of them
  /// looks to.
  static Rules rules_of(const ExperimentConfig& experiment, bool is_search = false);

  /// Takes one event; the actions are to be carried out in order.
  std::vector<TaskAction> on(const TaskEvent& event, Instant now);
  /// When a Tick is wanted, if at all.
  std::optional<Instant> next_deadline() const;
  bool over() const { return is_over_; }
  /// When its ranks were first told to start; nothing: not yet.
  std::optional<Instant> started_at() const { return started_at_; }
  const Rules& rules() const { return rules_; }
  /// The attempt that runs, is waited for, or was the last one.
  int attempt() const { return first_ + restarts(); }
  /// How many attempts came before that.
  int restarts() const { return static_cast<int>(attempts_.size()) - 1; }
  /// Whether another one may follow it.
  bool may_restart() const { return !is_stopped_ && restarts() < rules_.max_restarts; }
  /// Of every attempt so far.
  const std::vector<TrackedState<AttemptState>>& attempts() const { return attempts_; }
  /// All its state, as text: two tasks that may act differently differ in that.
  std::string snapshot() const;

 private:
  void handle(const task_event::Begin& event);
  void handle(const task_event::RanksStarting& event);
  void handle(const task_event::AttemptFailing& event);
  void handle(const task_event::AttemptOver& event);
  void handle(const task_event::StopRequested& event);
  void handle(const task_event::Tick& event);

  void begin();
  void end(Sequel why, std::optional<int> signal);
  nanoseconds delay_before(int number) const;
  std::optional<Instant> runs_until() const;

  Rules rules_;
  int first_ = 0;
  std::vector<TrackedState<AttemptState>> attempts_{TrackedState<AttemptState>(attempt_states())};
  bool is_over_ = false;
  bool is_stopped_ = false;            ///< by the user, or since its time is over
  std::optional<Instant> started_at_;  ///< when its ranks were first told to start
  std::optional<Instant> failing_at_;  ///< since when the attempt that runs is known to fail
  std::optional<Instant> begins_at_;   ///< when the attempt that is waited for begins
  Instant now_{0};
  std::vector<TaskAction> actions_;
};

}  // namespace train
