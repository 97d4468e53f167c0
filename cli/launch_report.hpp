// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/exit_code.hpp"
#include "cli/rank_output.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/task/task_record.hpp"

namespace train {

/// What `train launch` returns for an outcome: 0 only if every rank succeeded.
ExitCode exit_code_of(const RunOutcome& outcome);

/// Writes how the run ended into the record: state, exit code, class, cause, ranks.
void record_outcome(TaskRecord& task, const RunOutcome& outcome, const Trial& trial);

/// The last words about a run that did not succeed: what happened first with what is known about
/// it, the stderr of that rank, what became of the others, and the verdict. About one that
/// succeeded: what it left on its hosts, usually nothing. Ends without a newline.
TerminalText last_words(const RunOutcome& outcome, const Trial& trial, const RankOutput& output,
                        const TaskRecord& task);

}  // namespace train
