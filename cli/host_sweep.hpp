// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backends/event_loop/loop.hpp"
#include "backends/store/sqlite_task_store.hpp"
#include "cli/exit_code.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "launcher/run/sweep_driver.hpp"

namespace train {

/// Sweeps these hosts (`SweepDriver`), running the loop until that is over; `limit` at most.
std::vector<Result<SweepReport>> sweep_hosts(Loop& loop, Transport& transport,
                                             const std::vector<AbandonedHost>& hosts,
                                             nanoseconds limit);

/// The answers as lines for the user; hosts where nothing was found are left out.
TerminalText describe_sweep(const std::vector<AbandonedHost>& hosts,
                            const std::vector<Result<SweepReport>>& answers);

/// Writes, beside the record of a task, how its hosts are reached, for `sweep_lost_task`.
Result<void> keep_task_hosts(const SqliteTaskStore& store, const TaskRecord& task,
                             const std::vector<Host>& hosts);

/// `train task kill` of a task whose launcher died: goes to its hosts, ends what a dead agent has
/// left there, and says what was found. Code 75 where agents still do that themselves, 76 where a
/// host does not answer or a process cannot be killed. One that is unattended becomes lost when
/// nothing of it is left.
ExitCode sweep_lost_task(SqliteTaskStore& store, const TaskRecord& task);

}  // namespace train
