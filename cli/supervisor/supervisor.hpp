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

/// A task that this process is to run, or to go on with: it is its launcher in the store already.
struct SupervisedTask {
  const TaskRequest& request;
  const Plan& plan;
  TaskRecord& task;
  std::shared_ptr<SqliteTaskStore> store;
  Tee tee;
  /// Once the ranks have started for the first time; of a task that is gone on with, once nothing
  /// is to be asked for any more to reach its hosts. A signal before that leaves such a task as it
  /// was. `words`: what becomes of hosts that cannot be logged in to once this terminal has gone;
  /// may be empty.
  std::function<void(const TerminalText& words)> on_steady = [](const TerminalText&) {};
  /// Of a task that is gone on with: its logs, and what else its last supervisor has left.
  std::shared_ptr<LogSink> logs = nullptr;
  std::optional<TaskDriver::Resumption> resume = {};
  /// It is only to be stopped, as by this signal.
  std::optional<int> stop_signal = {};
  /// Where others hold its slots, it may be placed elsewhere: then its end is not recorded.
  bool may_be_placed_anew = false;
  /// Of its tickets, where it has waited for what it is to hold.
  std::optional<TicketOrder> order = {};
  /// Its ranks have started for the first time; it waits for nothing any more.
  std::function<void()> on_first_start = [] {};
  /// The experiment as it was read, where the task is a search.
  const ExperimentConfig* search = nullptr;
  /// Where that can have trials: the hosts of the task, those of the plan before all others.
  std::vector<Host> hosts = {};
  /// Of a search that is gone on with: what it has come to.
  const SearchRecord* left = nullptr;
  /// It does not run: this is how it has ended.
  std::optional<RunOutcome> outcome = {};
};

/// How a run ended, and what is to be said about it.
struct Ended {
  ExitCode code;
  TerminalText last_words;  ///< empty on success
  bool is_recorded = false;
  SweepVerdict verdict = SweepVerdict::clean;  ///< of the hosts that had to be swept
  bool is_displaced = false;                   ///< another launcher goes on with the task
  /// Others hold its slots, as the last words say: nothing was started, nothing recorded, and
  /// signals are held back.
  bool is_refused = false;
};

/// Who a launcher is, in words for others: "process 7 on 'head'".
std::string launcher_words();

/// How a task ends that is not run for this reason.
RunOutcome not_run(const Trial& trial, const Error& why);
/// How one ends that was stopped before it began.
RunOutcome not_run(const Trial& trial, int stop_signal);

/// Runs the task on hosts within reach to its end, which is recorded then, unless another launcher
/// takes it over before: that one's it is from then on. What is wrong meanwhile is said.
Ended supervise(SupervisedTask supervised, Reach& reach, StopSignals& signals);

/// A pipe that its reader closed must not end a run, and a stopped launcher (Ctrl-Z) would starve
/// the hosts of heartbeats.
void ignore_signals();

}  // namespace train
