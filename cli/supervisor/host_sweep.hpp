// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "backends/event_loop/loop.hpp"
#include "backends/store/sqlite_task_store.hpp"
#include "cli/surroundings/exit_code.hpp"
#include "cli/surroundings/stop_signals.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "launcher/connections/sweep_driver.hpp"

namespace train {

/// Sweeps these hosts (`SweepDriver`) and runs the loop until that is done, for `limit` at most, or
/// until a signal arrives. After that, signals have their default effect.
std::vector<Result<SweepReport>> sweep_hosts(Loop& loop, Transport& transport, StopSignals& signals,
                                             const std::vector<AbandonedHost>& hosts,
                                             nanoseconds limit, std::optional<Goodbye> goodbye);

/// The goodbye for agents of a task that is over.
Goodbye last_goodbye();

/// The answers as lines for the user; hosts where nothing was found are left out.
TerminalText describe_sweep(const std::vector<AbandonedHost>& hosts,
                            const std::vector<Result<SweepReport>>& answers);

/// Whether nothing is left on this host.
bool is_clean(const Result<SweepReport>& answer);

/// Sweeps the hosts of a task on which something may be left: live agents stop the ranks and exit,
/// and what dead agents left is ended. Reports what is found, and records the hosts that remain
/// unsettled (`keep_unsettled_hosts`).
Result<SweepVerdict> settle_hosts(const SqliteTaskStore& store, const TaskRecord& task);

/// `train task kill` of a task that has ended: sweeps its hosts and reports the result. Code 75 if
/// agents have not exited yet, 76 if a host does not answer or a process cannot be killed.
ExitCode settle_ended_task(const SqliteTaskStore& store, const TaskRecord& task);

}  // namespace train
