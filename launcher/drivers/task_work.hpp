// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/journal/journal.hpp"
#include "launcher/journal/journal_writer.hpp"
#include "launcher/lease/ticket.hpp"
#include "launcher/output/log_watch.hpp"
#include "launcher/output/metrics_watch.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/rendezvous/environment.hpp"
#include "launcher/rendezvous/port_needs.hpp"
#include "launcher/run/context_delivery.hpp"
#include "launcher/run/run.hpp"
#include "launcher/task/task.hpp"

namespace train {

/// What a supervisor that has ended has left of a trial, besides what the journal says.
struct TrialLeft {
  /// By rank: how much output of its last attempt its logs have.
  std::vector<std::uint64_t> positions = {};
  /// The end of those logs, in which nothing is to be missed that the other one has not told: the
  /// lines that had not ended, and before them what log policies may have found.
  std::vector<OutputChunk> last_output = {};
  /// Log policies of which a match in that attempt is on record; by index.
  std::vector<std::size_t> known_matches = {};
};

/// What a supervisor has left that has ended: this one goes on with it.
struct TaskResumption {
  Replay replay;            ///< of the journal; neither over nor without an attempt
  std::uint64_t epoch = 0;  ///< of this supervisor: in the journal already, behind what was read
  std::map<int, TrialLeft> left = {};  ///< by trial: of those that were begun and are not over
};

/// What a task executes: its first trial, which may be all of it.
struct TaskWork {
  const Plan& plan;
  std::string task_id;
  PortNeeds port_needs;
  /// Where the ranks start: absolute, or relative to the context.
  std::string working_directory;
  std::function<std::vector<EnvironmentEntry>(int rank, int attempt)> environment_of;
  std::string boot_id = {};  ///< of this machine, for the journal
  std::optional<TaskResumption> resume = {};
  /// It is only to be stopped: a host that tells of a later supervisor is lost, since none may
  /// keep the others from being stopped by saying so.
  bool is_to_end = false;
  std::string launcher = {};  ///< who this is, in words for another launcher
  EventTime* time = nullptr;  ///< of what is written down
  /// Of its tickets, where it has waited for what it is to hold.
  std::optional<TicketOrder> order = {};
  /// All hosts that its trials may be on, those of the first trial before all others, in their
  /// order; none: it has one trial.
  std::vector<Host> hosts = {};
  /// Of one trial `max_runtime` is the task's; else somebody looks to it who knows all trials.
  bool is_search = false;
};

/// What another trial of a task executes, once the first has begun.
struct TrialWork {
  const Plan& plan;  ///< whose trial has a number of its own; it must outlive the trial
  PortNeeds port_needs;
  std::function<std::vector<EnvironmentEntry>(int rank, int attempt)> environment_of;
  std::vector<int> hosts;  ///< by node rank, the host of the task
  std::optional<TicketOrder> order = {};
  std::shared_ptr<const Plan> owned = {};  ///< the plan, where it lives as long as the trial
  /// The number of its first attempt: no `AttemptId` is used twice. 0 but for a trial that has
  /// ended before any of its ranks were told to start, and is begun again.
  int first_attempt = 0;
  /// Another supervisor has begun it: what it has left is in the task's `resume`.
  bool is_left = false;
};

/// Another supervisor goes on with the task.
struct TaskDisplacement {
  std::string host;  ///< that has said so; empty: the journal
  std::string by;    ///< the other one, in its own words as the host has them; may be empty
};

/// What others may want to know of a task. They come from inside of calls to the driver, or of the
/// ports'.
struct TaskHooks {
  /// Before anything of this attempt happens; not for the first. It began when `begun` was written
  /// down, where the task has a time.
  std::function<void(int attempt, std::optional<milliseconds> begun)> on_attempt =
      [](int, std::optional<milliseconds>) {};
  std::function<void()> on_all_started = [] {};
  /// Once, of a task that is gone on with: every host was reached again, or is not expected to
  /// be.
  std::function<void()> on_reached = [] {};
  /// A line for the user.
  std::function<void(const std::string& text)> on_note = [](const std::string&) {};
  /// A line for the user, or empty; `is_last` when no attempt can follow.
  std::function<void(const std::string& why, bool is_last)> on_stopping = [](const std::string&,
                                                                             bool) {};
  std::function<void(int attempt, const RunOutcome& outcome)> on_attempt_over =
      [](int, const RunOutcome&) {};
  /// A rank has printed a line that a log policy looks for.
  std::function<void(const LogPolicy& policy, const PolicyMatch& match)> on_match =
      [](const LogPolicy&, const PolicyMatch&) {};
  /// A rank has said something of its training.
  std::function<void(const MetricsReport& report)> on_report = [](const MetricsReport&) {};
  /// This rank was started, bound to these CPUs of its host.
  std::function<void(int rank, const std::vector<int>& cpus)> on_bound =
      [](int, const std::vector<int>&) {};
  /// A host has said what this rank of it uses, or has used.
  std::function<void(int rank, const RankUsage& usage)> on_usage = [](int, const RankUsage&) {};
  /// So many lines of metrics files were no reports.
  std::function<void(std::uint64_t lines)> on_ignored_lines = [](std::uint64_t) {};
  /// No attempt of this trial follows, and this is how it has ended. Another one may be begun.
  std::function<void(int trial, const RunOutcome& outcome)> on_trial_over =
      [](int, const RunOutcome&) {};
  std::function<void(const task_action::AnnounceRestart& restart)> on_restart =
      [](const task_action::AnnounceRestart&) {};
  std::function<void(const ContextSummary& context)> on_context = [](const ContextSummary&) {};
  std::function<void(const ContextProgress& progress)> on_context_progress =
      [](const ContextProgress&) {};
  std::function<void()> on_over = [] {};  ///< what was printed may still have to be kept
  /// In place of `on_over`: from here on the driver does nothing any more, and nobody may in its
  /// name.
  std::function<void(const TaskDisplacement& by)> on_displaced = [](const TaskDisplacement&) {};
};

}  // namespace train
