// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/states/state_table.hpp"

namespace train {

/// The exit code by which a script says that its hyperparameters are invalid: another attempt would
/// end in the same way.
inline constexpr int invalid_hyperparameters_code = 80;

/// How an attempt ended, as far as it matters for a further one.
struct AttemptEnd {
  bool succeeded = false;
  bool any_started = false;     ///< at least one rank ran
  bool left_processes = false;  ///< some processes could not be killed
  bool is_hopeless = false;     ///< a log policy has found that another attempt would fail again
  bool is_unrecorded = false;   ///< the journal cannot be written any more
  bool is_moved = false;  ///< its hosts were taken away, or one could not be had: it does not count
  int exit_code = 0;      ///< of the first failed rank; 128 + signal; 0: no rank failed first
  /// Another attempt, which is elsewhere, does not begin earlier than this after the end: until
  /// then, ranks may run on a lost host.
  milliseconds fence{0};
  /// It has made a checkpoint or reported metrics, or that is not known.
  bool made_progress = true;
  /// Two ends with the same number have the same cause (from `hash_of` its words, and no larger
  /// than a signed number); 0: not known.
  std::uint64_t cause = 0;

  bool operator==(const AttemptEnd&) const = default;
};
AttemptEnd end_of(const RunOutcome& outcome);

/// What follows an attempt, and why.
enum class Sequel {
  restart,                  ///< another attempt
  succeeded,                ///< nothing: everything is done
  stopped,                  ///< nothing: the user has stopped the task, or its time is over
  never_started,            ///< nothing: even the first attempt started no rank
  invalid_hyperparameters,  ///< nothing: it would fail again
  hopeless,                 ///< nothing: a log policy says that it would fail again
  unrecorded,               ///< nothing: without a record, another attempt might be one too many
  processes_left,           ///< nothing: an old process would run beside a new one
  no_restarts_left,         ///< nothing: the restarts are used up
  no_progress,              ///< nothing: `max_no_progress` attempts in a row came to nothing
  same_cause,               ///< nothing: two in a row came to nothing, for the same cause
};
/// "restart", "succeeded", "no_restarts_left", ...
std::string_view to_string(Sequel sequel);
/// `no_progress` or `same_cause`: restarting does not help.
bool is_in_vain(Sequel sequel);
/// For a task that has ended so, with the cause of its last attempt.
std::string no_help_text(Sequel why, const std::string& cause);
/// What follows an attempt after `restarts` restarts that count; `is_stopped`: the user has stopped
/// the task.
Sequel sequel_of(int restarts, const AttemptEnd& end, bool is_stopped, int max_restarts);

/// The state of an attempt of a task. `attempt_states` defines the transitions.
enum class AttemptState { waiting, running, failing, over, cancelled };
const StateTable<AttemptState>& attempt_states();

/// What happens to a task. Instants are on the launcher's clock.
namespace task_event {
/// The first attempt may begin; in a replay also: the attempt that was waited for has begun.
struct Begin {};
/// The ranks of the running attempt are about to be told to start.
struct RanksStarting {};
/// Something has failed in the running attempt: it is being stopped.
struct AttemptFailing {};
/// The running attempt is over: every host that answers has confirmed that nothing of it is left;
/// the others are swept before ranks are started on them again.
struct AttemptOver {
  AttemptEnd end;
};
/// The user stops everything, by this signal; or the time of the task is over, and the driver has
/// begun to stop it (`runtime_over`).
struct StopRequested {
  int signal = 0;
};
/// Time has passed; sent at `Task::next_deadline()` at the latest.
struct Tick {};
}  // namespace task_event

using TaskEvent =
    std::variant<task_event::Begin, task_event::RanksStarting, task_event::AttemptFailing,
                 task_event::AttemptOver, task_event::StopRequested, task_event::Tick>;

/// Actions of a task, in order.
namespace task_action {
/// Run the plan as attempt `number` (from 0).
struct BeginAttempt {
  int number = 0;
};
/// Another attempt begins in `delay`: restart `number` (from 1) of `of`; or, without a number, the
/// one after an attempt that does not count, which is elsewhere.
struct AnnounceRestart {
  int number = 0;
  int of = 0;
  nanoseconds delay{0};
  bool is_fenced = false;  ///< it is that long because ranks may run on a lost host until then
};
/// The task's time is over: it is to be stopped as by a user, with `runtime_over`.
struct EndRuntime {};
/// No further attempt: the outcome of the last attempt is the task's, unless a signal has ended the
/// wait for another attempt.
struct End {
  Sequel why = Sequel::succeeded;
  std::optional<int> signal = {};
};
}  // namespace task_action

using TaskAction = std::variant<task_action::BeginAttempt, task_action::AnnounceRestart,
                                task_action::EndRuntime, task_action::End>;

/// The decisions about the attempts of one trial of a task, and nothing else: events in, actions
/// out. The attempts run in sequence, each on all hosts of a plan. The same events at the same
/// instants give the same actions and the same state.
class Task {
 public:
  struct Rules {
    int max_restarts = 0;  ///< number of attempts after the first, at most
    /// Before the first restart, counted from the failure; doubled before each further one.
    milliseconds restart_delay{1'000};
    milliseconds longest_delay{60'000};
    /// From the first start of ranks; nothing: unlimited.
    std::optional<milliseconds> max_runtime = {};
    int max_no_progress = 0;  ///< attempts in a row without progress; 0: any number
    bool stops_on_same_cause = false;
  };

  /// `first`: the number of its first attempt. Earlier attempts belong to another Task object for
  /// the same trial, which has never started a rank.
  explicit Task(Rules rules, int first = 0) : rules_(rules), first_(first) {}
  /// The rules of an experiment. `is_search`: `max_runtime` is for all trials together, so a single
  /// trial does not check it.
  static Rules rules_of(const ExperimentConfig& experiment, bool is_search = false);

  /// Takes one event; the actions are to be carried out in order.
  std::vector<TaskAction> on(const TaskEvent& event, Instant now);
  /// When the next Tick is due; nothing: no Tick is needed.
  std::optional<Instant> next_deadline() const;
  bool over() const { return is_over_; }
  /// When its ranks were first told to start; nothing: not yet.
  std::optional<Instant> started_at() const { return started_at_; }
  const Rules& rules() const { return rules_; }
  /// The attempt that runs, is waited for, or was the last one.
  int attempt() const { return first_ + restarts(); }
  /// The number of attempts before that one.
  int restarts() const { return static_cast<int>(attempts_.size()) - 1; }
  /// The number of those that count: an attempt whose hosts were taken away does not.
  int counted_restarts() const { return restarts() - moves_; }
  /// Whether another attempt may follow it.
  bool may_restart() const { return !is_stopped_ && counted_restarts() < rules_.max_restarts; }
  /// The states of every attempt so far.
  const std::vector<TrackedState<AttemptState>>& attempts() const { return attempts_; }
  /// The whole state as text: tasks that may act differently have different texts.
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
  std::optional<Sequel> end_in_vain(const AttemptEnd& end);
  std::optional<Instant> runs_until() const;

  Rules rules_;
  int first_ = 0;
  std::vector<TrackedState<AttemptState>> attempts_{TrackedState<AttemptState>(attempt_states())};
  int moves_ = 0;                 ///< attempts whose hosts were taken away
  int in_vain_ = 0;               ///< the last attempts, as far as none of them made progress
  std::uint64_t last_cause_ = 0;  ///< of the last of these; 0: there is none, or it is not known
  bool is_over_ = false;
  bool is_stopped_ = false;            ///< by the user, or because its time is over
  std::optional<Instant> started_at_;  ///< when its ranks were first told to start
  std::optional<Instant> failing_at_;  ///< since when the running attempt is known to fail
  std::optional<Instant> begins_at_;   ///< when the next attempt begins
  Instant now_{0};
  std::vector<TaskAction> actions_;
};

}  // namespace train
