// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backends/control/control_server.hpp"
#include "backends/link/logins.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "launcher/drivers/search_driver.hpp"
#include "launcher/drivers/task_driver.hpp"
#include "launcher/record/task_record.hpp"
#include "launcher/search/search.hpp"

namespace train {

// The control socket of a task, on both of its sides.

/// What the requests over the socket of a task are about.
struct Controlled {
  TaskDriver& driver;
  Logins& logins;
  std::function<void(int signal)> stop;  ///< the task
  SearchDriver* search = nullptr;        ///< that it carries out; null: it is none
};

/// Serves the socket at `path` for a task, which outlives what is returned. Where there can be no
/// socket, `say` is told and nothing is returned: signals still stop the task.
std::unique_ptr<ControlServer> open_control(Loop& loop, const std::string& path,
                                            const std::string& task_id, Controlled task,
                                            const std::function<void(const TerminalText&)>& say);

/// What the supervisor that serves the socket at `path` says of its task; nothing when nobody
/// serves it, or it dies before it has answered. That it does not answer is an error.
Result<std::optional<ControlStatus>> ask_now(const std::string& path);
/// The same in lines for the user, without what ranks use.
TerminalText describe_now(const Result<std::optional<ControlStatus>>& now);
/// Writes what ranks use into the record, in place of what was recorded.
void take_usage(TaskRecord& task, const ControlStatus& now);

/// Lends the supervisor that serves the socket at `path` what this process has for logging in. What
/// came of it, in a line for the user; empty where nothing is wanted. None when nobody serves it.
std::optional<TerminalText> lend_credentials(const std::string& path);

/// Has the supervisor that serves the socket at `path` stop the task, as a signal would. False when
/// nobody serves it.
Result<bool> stop_through(const std::string& path, int signal);

/// Has the supervisor that serves the socket at `path` end one trial of its search: how that is
/// then, in time `killed`. None when nobody serves it, or it dies before it has answered. Class
/// `no_input` when the task has no such trial that could be ended, as the error says.
Result<std::optional<TrialState>> kill_trial_through(const std::string& path, int trial);

}  // namespace train
