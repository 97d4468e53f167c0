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
    running,    ///< never heard of its end
    succeeded,  ///< exit code 0
    failed,     ///< a code or signal of its own
    stopped,    ///< train stopped it: never a cause
    lost,       ///< its host was lost
  };
  State state = State::not_started;
  bool never_started = false;  ///< its host could not execute it
  std::optional<int> code;
  std::optional<int> signal;
  bool dumped_core = false;
  std::optional<AlignedInstant> at;
  std::string reported;  ///< in its error file, as one line; usually empty
  std::optional<message::MemoryKill> memory_kill = {};
  std::string core = {};                ///< where its core is, in words; usually empty
  std::optional<RankUsage> usage = {};  ///< the last that its host has said; nothing: not known
  std::vector<int> cpus = {};           ///< that it is bound to; empty: to none
  bool ended_with_parent = false;       ///< as `message::RankEnded::parent_end` tells

  bool operator==(const RankOutcome&) const = default;
};

/// Something that went wrong during a run.
struct Failure {
  AlignedInstant at;  ///< when; for a host that was lost, from when it was last heard until noticed
  Error error;        ///< its messages name host and rank
  std::optional<int> rank;
  int host = 0;       ///< node rank; -1 when no host is to blame
  int exit_code = 0;  ///< of a rank: its code, or 128 + signal; else 0
};

/// A host that did not confirm that its processes are gone, or named some that are not.
struct Leftover {
  int host = 0;
  std::vector<message::Survivor> survivors;  ///< the first of them; empty: no answer
  int more_survivors = 0;                    ///< how many others
  std::string why = {};                      ///< why there was no answer
};

/// In place of the signal by which a user asks for the end: the task has run for `max_runtime`.
inline constexpr int runtime_over = 0;
inline constexpr const char* runtime_over_text = "max_runtime is over";
/// Likewise, of a trial: its search wants no more of it, or the user wants it ended alone.
inline constexpr int trial_stop = -1;
inline constexpr const char* trial_stop_text = "the trial is stopped";

/// How a run ended. Exactly one of `succeeded`, `stop_signal` and `cause` is set.
struct RunOutcome {
  bool succeeded = false;  ///< every rank exited with code 0, none because it was told to stop
  /// The user asked for the end with this, before anything had failed, or `runtime_over`, or
  /// `trial_stop`.
  std::optional<int> stop_signal;
  std::optional<Failure> cause;   ///< the failure that happened first
  std::vector<Failure> others;    ///< further failures, in order of time
  std::vector<int> simultaneous;  ///< indices into `others` that may have been first as well
  std::vector<int> undecided;     ///< hosts of which nothing was known when others had failed
  std::vector<RankOutcome> ranks;
  std::vector<Leftover> leftovers;
  bool were_told_to_start = false;  ///< the ranks: some may have run, whatever is known of them
  bool all_started = false;
  bool is_cut_short = false;  ///< the user did not wait for hosts that were still stopping
};

/// Puts the failures of a run in order of time and names the one that happened first as its cause,
/// with those that may have been first as well. A rank's failure counts at its instant; a lost host
/// from when it was last heard, since it may have died then and made ranks elsewhere fail. A user's
/// interrupt is the end of the run unless a failure certainly came before it. Sets `cause`,
/// `others`, `simultaneous` and `stop_signal`.
void decide_cause(RunOutcome& outcome, std::vector<Failure> failures,
                  std::optional<Instant> interrupted_at);

/// The user has ended the wait for another attempt: what had failed in this one is not the end any
/// more.
void interrupt(RunOutcome& outcome, int signal);

/// "SIGKILL"; "signal 99" for one without a name.
std::string signal_name(int signal);
/// The number of "TERM"; nothing when no signal has that name.
std::optional<int> signal_number(std::string_view name);
/// Why a task was stopped: "stopped by SIGINT", or that its time is over; or a trial.
std::string stop_text(int signal);

}  // namespace train
