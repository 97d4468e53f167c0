// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/connections/clock_offset.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// How one rank ended.
struct RankOutcome {
  enum class State {
    not_started,
    running,    ///< its end was never reported
    succeeded,  ///< exit code 0
    failed,     ///< with a code or signal of its own
    stopped,    ///< by train: never a cause
    lost,       ///< its host was lost
  };
  State state = State::not_started;
  bool never_started = false;  ///< its host could not execute it
  std::optional<int> code;
  std::optional<int> signal;
  bool dumped_core = false;
  std::optional<AlignedInstant> at;
  std::string reported;  ///< from its error file, as one line; usually empty
  std::optional<message::MemoryKill> memory_kill = {};
  std::string core = {};                ///< where its core dump is, in words; usually empty
  std::optional<RankUsage> usage = {};  ///< last reported by its host; nothing: not known
  std::vector<int> cpus = {};           ///< CPUs that it is bound to; empty: unbound
  bool ended_with_parent = false;       ///< as in `message::RankEnded::parent_end`

  bool operator==(const RankOutcome&) const = default;
};

/// Something that went wrong during a run.
struct Failure {
  AlignedInstant at;  ///< for a lost host: from when it was last heard until the loss was noticed
  Error error;        ///< its messages name host and rank
  std::optional<int> rank;
  int host = 0;       ///< node rank; -1 when no host is to blame
  int exit_code = 0;  ///< of a rank: its code, or 128 + signal; else 0
};

/// A host that did not confirm that its processes are gone, or named some that remain.
struct Leftover {
  int host = 0;
  std::vector<message::Survivor> survivors;  ///< the first survivors; empty: no answer
  int more_survivors = 0;                    ///< number of further survivors
  std::string why = {};                      ///< why there was no answer
};

/// Instead of the signal by which a user stops the task: the task has run for `max_runtime`.
inline constexpr int runtime_over = 0;
inline constexpr const char* runtime_over_text = "max_runtime is over";
/// Likewise, for a trial: its search stops it, or the user stops it alone.
inline constexpr int trial_stop = -1;
inline constexpr const char* trial_stop_text = "the trial is stopped";
/// Likewise: its hosts are taken away, and the task goes on elsewhere.
inline constexpr int task_moves = -2;
inline constexpr const char* task_moves_text = "its hosts are taken away";

/// How a run ended. Exactly one of `succeeded`, `stop_signal` and `cause` is set.
struct RunOutcome {
  bool succeeded = false;  ///< every rank exited with code 0, none because it was told to stop
  /// The signal by which the user stopped the run before anything had failed, or `runtime_over`, or
  /// `trial_stop`.
  std::optional<int> stop_signal;
  std::optional<Failure> cause;   ///< the failure that happened first
  std::vector<Failure> others;    ///< further failures, in order of time
  std::vector<int> simultaneous;  ///< indices into `others` that may also have been first
  std::vector<int> undecided;     ///< hosts whose state was unknown when others had failed
  std::vector<RankOutcome> ranks;
  std::vector<Leftover> leftovers;
  /// The ranks: some may have run, even if their start was not reported.
  bool were_told_to_start = false;
  bool all_started = false;
  bool is_cut_short = false;  ///< hosts were still stopping when the user ended the wait
};

/// Sorts the failures of a run by time and makes the first one its cause, with those that may also
/// have been first. A rank's failure counts at its instant. A lost host counts from when it was
/// last heard, since it may have died then and made ranks elsewhere fail. If the user interrupted
/// the run, that is its end unless a failure certainly came before. Sets `cause`, `others`,
/// `simultaneous` and `stop_signal`.
void decide_cause(RunOutcome& outcome, std::vector<Failure> failures,
                  std::optional<Instant> interrupted_at);

/// The user stopped the task while it waited for another attempt: the failures of this one are no
/// longer the reason for the end.
void interrupt(RunOutcome& outcome, int signal);

/// "SIGKILL"; "signal 99" for one without a name.
std::string signal_name(int signal);
/// The number of "TERM"; nothing when no signal has that name.
std::optional<int> signal_number(std::string_view name);
/// Why a task or trial was stopped: "stopped by SIGINT", or that its time is over.
std::string stop_text(int signal);

}  // namespace train
