// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backends/log/log_sink.hpp"
#include "backends/store/sqlite_task_store.hpp"
#include "cli/logs/rank_output.hpp"
#include "cli/request/transports.hpp"
#include "cli/surroundings/exit_code.hpp"
#include "cli/surroundings/stop_signals.hpp"
#include "launcher/connections/sweep_driver.hpp"
#include "launcher/drivers/task_driver.hpp"
#include "launcher/journal/search_record.hpp"
#include "launcher/lease/ticket.hpp"
#include "launcher/plan/trial_place.hpp"
#include "launcher/record/task_record.hpp"
#include "launcher/task/task_request.hpp"

namespace train {

/// A task that this process runs or resumes; in the store it is already its launcher.
struct SupervisedTask {
  const TaskRequest& request;
  Plan& plan;  ///< of its last attempt
  TaskRecord& task;
  std::shared_ptr<SqliteTaskStore> store;
  Tee tee;
  /// Called when the ranks have started for the first time; when resuming, as soon as no user input
  /// is needed any more to reach the hosts. A signal before that leaves a resumed task as it was.
  /// `words` tells what happens to hosts that cannot be logged in to after this terminal is closed;
  /// may be empty.
  std::function<void(const TerminalText& words)> on_steady = [](const TerminalText&) {};
  /// When resuming: the logs and state left by the previous supervisor.
  std::shared_ptr<LogSink> logs = nullptr;
  std::optional<TaskDriver::Resumption> resume = {};
  /// The task is only to be stopped, as if by this signal.
  std::optional<int> stop_signal = {};
  /// If others hold its slots, the task may be placed elsewhere; then its end is not recorded.
  bool may_be_placed_anew = false;
  /// The order of its tickets, if it has waited for its slots.
  std::optional<TicketOrder> order = {};
  /// Called when its ranks have started for the first time; its tickets are not needed any more.
  std::function<void()> on_first_start = [] {};
  /// The experiment as it was read, if the task is a search.
  const ExperimentConfig* search = nullptr;
  /// The hosts that it may use, those of the first plan first; empty: those of the plan.
  std::vector<Host> hosts = {};
  /// When resuming a search: its recorded state.
  const SearchRecord* left = nullptr;
  /// Set if the task does not run: its outcome.
  std::optional<RunOutcome> outcome = {};
  /// It runs in the job that was submitted for it. If that goes back into the queue, the task is
  /// left for its next launcher there (`Adoption::begin_elsewhere`).
  bool may_go_back = false;
};

/// How a run ended, and what to report about it.
struct Ended {
  ExitCode code;
  TerminalText last_words;  ///< empty on success
  bool is_recorded = false;
  SweepVerdict verdict = SweepVerdict::clean;  ///< of the hosts that were swept
  bool is_displaced = false;                   ///< another launcher has taken over the task
  /// Others hold its slots, as the last words say: nothing was started, no end was recorded, and
  /// signals are held back.
  bool is_refused = false;
};

/// This launcher in words for other processes: "process 7 on 'head'".
std::string launcher_words();

/// The outcome of a task that did not run for this reason.
RunOutcome not_run(const Trial& trial, const Error& why);
/// The outcome of a task that was stopped before it began.
RunOutcome not_run(const Trial& trial, int stop_signal);

/// Runs the task to its recorded end on hosts within reach, unless another launcher takes it over;
/// from then on the hosts, the record and the logs belong to that launcher. Problems are reported
/// as they occur.
Ended supervise(SupervisedTask supervised, HostConnections& connections, StopSignals& signals);

/// Ignores SIGPIPE, so that a closed pipe does not end a run, and SIGTSTP (Ctrl-Z), because a
/// stopped launcher would send no heartbeats to the hosts.
void ignore_signals();

}  // namespace train
