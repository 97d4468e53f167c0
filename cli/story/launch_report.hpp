// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/logs/rank_output.hpp"
#include "cli/surroundings/exit_code.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/record/task_record.hpp"
#include "launcher/run/outcome.hpp"

namespace train {

/// The exit code of `train launch` for an outcome: 0 only if every rank succeeded.
ExitCode exit_code_of(const RunOutcome& outcome);

/// What ended an attempt, as one line; empty on success.
std::string cause_line(const RunOutcome& outcome);
/// The same for the user; if a rank failed first, with the last line that it wrote to stderr.
TerminalText describe_failure(const RunOutcome& outcome, const Trial& trial,
                              const RankOutput& output);

/// What the run has left, or may have left, on its hosts; usually empty.
TerminalText describe_leftovers(const RunOutcome& outcome, const Trial& trial,
                                const TaskRecord& task);

/// The names of hosts as a record of a task has them.
std::string recorded_names(const std::vector<Host>& hosts);
/// Writes where this attempt of a task with one trial is to run into its record: hosts, slots, and
/// ranks with their log files.
void record_place(TaskRecord& task, const Trial& trial, int attempt = 0);
/// Writes the CPUs that a rank is bound to into its record.
void record_binding(RankRecord& record, const std::vector<int>& cpus);
/// Writes the resource usage of a rank into its record.
void record_usage(RankRecord& record, const RankUsage& usage);

/// Writes the end of the run into the record: state, exit code, class, cause, ranks.
void record_outcome(TaskRecord& task, const RunOutcome& outcome, const Trial& trial);

/// The final report. For a run that did not succeed: what ended earlier attempts, then what
/// happened to the other ranks, what failed first with all known details and the stderr of that
/// rank, and the verdict. For a run that succeeded: what it left on its hosts, usually nothing.
/// Ends without a newline.
TerminalText last_words(const RunOutcome& outcome, const Trial& trial, const RankOutput& output,
                        const TaskRecord& task);

}  // namespace train
