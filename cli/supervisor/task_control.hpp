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

// Both sides of the control socket of a task.

/// The objects that requests over the control socket act on.
struct Controlled {
  TaskDriver& driver;
  Logins& logins;
  std::function<void(int signal)> stop;  ///< stops the task
  SearchDriver* search = nullptr;        ///< null if the task is not a search
};

/// Serves the socket at `path` for a task, which must outlive the returned server. If the socket
/// cannot be created, `print` is called and nothing is returned: signals still stop the task.
std::unique_ptr<ControlServer> open_control(Loop& loop, const std::string& path,
                                            const std::string& task_id, Controlled task,
                                            const std::function<void(const TerminalText&)>& print);

/// The current status of a task that this process drives.
ControlStatus status_of(const TaskDriver& driver, const Logins& logins);
/// The status that the supervisor behind the socket at `path` reports. Nothing if no supervisor
/// serves the socket, or it dies before it answers; an error if it does not answer.
Result<std::optional<ControlStatus>> ask_now(const std::string& path);
/// The same as lines for the user, without the resource usage of ranks.
TerminalText describe_now(const Result<std::optional<ControlStatus>>& now);
/// Replaces the recorded resource usage of ranks by the reported one.
void take_usage(TaskRecord& task, const ControlStatus& now);

/// Lends this process's login credentials to the supervisor behind the socket at `path`. Returns a
/// line for the user about the result, which is empty if no credentials are wanted; nothing if no
/// supervisor serves the socket.
std::optional<TerminalText> lend_credentials(const std::string& path);

/// Asks the supervisor behind the socket at `path` to stop the task, as a signal would. False if no
/// supervisor serves it.
Result<bool> stop_through(const std::string& path, int signal);

/// Asks the supervisor behind the socket at `path` to end one trial of its search. Returns the
/// state of the trial after the request; it becomes `killed` later. Nothing if no supervisor serves
/// the socket, or it dies before it answers. Class `no_input` if the task has no such trial that
/// could be ended; the error says why.
Result<std::optional<TrialState>> kill_trial_through(const std::string& path, int trial);

}  // namespace train
