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

/// Sweeps these hosts (`SweepDriver`), running the loop until that is over: for `limit` at most, or
/// until a signal comes. Signals have their default effect after that.
std::vector<Result<SweepReport>> sweep_hosts(Loop& loop, Transport& transport, StopSignals& signals,
                                             const std::vector<AbandonedHost>& hosts,
                                             nanoseconds limit, std::optional<Goodbye> goodbye);

/// For agents of a task that is over.
Goodbye last_goodbye();

/// The answers as lines for the user; hosts where nothing was found are left out.
TerminalText describe_sweep(const std::vector<AbandonedHost>& hosts,
                            const std::vector<Result<SweepReport>>& answers);

/// Nothing is left on this host.
bool is_clean(const Result<SweepReport>& answer);

/// Goes to those hosts of a task where something of it may be left: agents stop the ranks and
/// leave, and what dead ones have left is ended. Says what is found, and keeps which hosts are left
/// (`keep_unsettled_hosts`).
Result<SweepVerdict> settle_hosts(const SqliteTaskStore& store, const TaskRecord& task);

/// `train task kill` of a task that has ended: settles its hosts, and says so. Code 75 where agents
/// have not left yet, 76 where a host does not answer or a process cannot be killed.
ExitCode settle_ended_task(const SqliteTaskStore& store, const TaskRecord& task);

}  // namespace train
