// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/logs/rank_output.hpp"
#include "cli/surroundings/exit_code.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/record/task_record.hpp"
#include "launcher/run/outcome.hpp"

namespace train {

/// What `train launch` returns for an outcome: 0 only if every rank succeeded.
ExitCode exit_code_of(const RunOutcome& outcome);

/// What ended an attempt, as one line; empty on success.
std::string cause_line(const RunOutcome& outcome);
/// The same for the user, with the last line that the rank wrote to stderr, if a rank failed first.
TerminalText describe_failure(const RunOutcome& outcome, const Trial& trial,
                              const RankOutput& output);

/// What the run has left on its hosts, or may have; usually empty.
TerminalText describe_leftovers(const RunOutcome& outcome, const Trial& trial,
                                const TaskRecord& task);

/// Writes the CPUs that a rank is bound to into its record.
void record_binding(RankRecord& record, const std::vector<int>& cpus);
/// Writes what a rank uses, or has used, into its record.
void record_usage(RankRecord& record, const RankUsage& usage);

/// Writes how the run ended into the record: state, exit code, class, cause, ranks.
void record_outcome(TaskRecord& task, const RunOutcome& outcome, const Trial& trial);

/// The last words about a run that did not succeed: what happened first with what is known about
/// it, the stderr of that rank, what became of the others, and the verdict; before that, what ended
/// earlier attempts. About one that succeeded: what it left on its hosts, usually nothing. Ends
/// without a newline.
TerminalText last_words(const RunOutcome& outcome, const Trial& trial, const RankOutput& output,
                        const TaskRecord& task);

}  // namespace train
