// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/hang/hang_report.hpp"
#include "launcher/journal/journal_entry.hpp"
#include "launcher/journal/journal_writer.hpp"
#include "launcher/lease/ticket.hpp"
#include "launcher/measures/host_start.hpp"
#include "launcher/output/log_watch.hpp"
#include "launcher/output/metrics_watch.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/rendezvous/port_needs.hpp"
#include "launcher/rendezvous/rank_environment.hpp"
#include "launcher/run/context_delivery.hpp"
#include "launcher/run/run.hpp"
#include "launcher/task/task.hpp"

namespace train {

/// What an earlier supervisor has left of a trial, besides the journal.
struct TrialLeft {
  /// By rank: how many bytes of output of the last attempt the logs have.
  std::vector<std::uint64_t> positions = {};
  /// The end of those logs, which is searched again for matches that the earlier supervisor may not
  /// have reported: the unfinished lines, and before them lines in which log policies may match.
  std::vector<OutputChunk> last_output = {};
  /// Indices of log policies for which a match in that attempt is recorded.
  std::vector<std::size_t> known_matches = {};
};

/// What a dead supervisor has left, for the supervisor that resumes the task.
struct TaskResumption {
  Replay replay;            ///< of the journal; it is not over, and has an attempt
  std::uint64_t epoch = 0;  ///< of this supervisor: in the journal already, after what was read
  std::map<int, TrialLeft> left = {};  ///< by trial: trials that were begun and are not over
  /// Its hosts were taken away, and nothing of its attempts is left: none of them runs, as the
  /// journal says too. The plan has other hosts.
  bool is_moved = false;
};

/// Where another attempt of a trial runs.
struct NextPlace {
  std::shared_ptr<const Plan> plan;  ///< of the same trial, with no more ranks than at first
  PortNeeds port_needs;
  std::function<std::vector<EnvironmentEntry>(int rank, int attempt)> environment_of;
  /// Hosts that have failed the attempt before had not failed any before: it does not count.
  bool is_first_failure = false;
  std::vector<LeftOutHost> left_out = {};  ///< hosts of this attempt that are left out from now on
};

/// What a task executes: its first trial, which may be the only one.
struct TaskWork {
  /// Of its last attempt, when resuming; else of its first.
  const Plan& plan;
  std::string task_id;
  PortNeeds port_needs;
  /// Working directory of the ranks: absolute, or relative to the context.
  std::string working_directory;
  std::function<std::vector<EnvironmentEntry>(int rank, int attempt)> environment_of;
  std::string boot_id = {};  ///< of this machine, for the journal
  std::optional<TaskResumption> resume = {};
  /// The task is only to be stopped: a host that reports a later supervisor counts as lost.
  /// Otherwise one host could keep the others from being stopped.
  bool is_to_end = false;
  std::string launcher = {};  ///< name of this launcher for other launchers, in words
  EventTime* time = nullptr;  ///< clock of the recorded times
  /// The order of its tickets, if it has waited for its leases.
  std::optional<TicketOrder> order = {};
  /// All hosts that its trials may use, those of the first attempt first, in their order; empty:
  /// those of the plan.
  std::vector<Host> hosts = {};
  /// With one trial: asked at the end of an attempt that another one may follow. Nothing: that one
  /// runs where this one ran.
  std::function<std::optional<NextPlace>(const RunOutcome& outcome)> next_place = {};
  /// With one trial, the trial checks `max_runtime`; in a search, the search driver does, for all
  /// trials.
  bool is_search = false;
};

/// What a further trial of a task executes.
struct TrialWork {
  const Plan& plan;  ///< its trial has a number of its own; must outlive the trial
  PortNeeds port_needs;
  std::function<std::vector<EnvironmentEntry>(int rank, int attempt)> environment_of;
  std::vector<int> hosts;  ///< by node rank, the host of the task
  std::optional<TicketOrder> order = {};
  std::shared_ptr<const Plan> owned = {};  ///< the plan, if it lives only as long as the trial
  /// The number of its first attempt: no `AttemptId` is used twice. 0, unless the trial has ended
  /// before any of its ranks were told to start, and is begun again.
  int first_attempt = 0;
  /// Another supervisor has begun the trial: its state is in the task's `resume`. Such a trial is
  /// resumed, or begun here with its next attempt if the task was moved.
  bool is_left = false;
};

/// Another supervisor has taken the task over.
struct TaskDisplacement {
  std::string host;  ///< the host that reported it; empty: the journal
  /// The other supervisor's name for itself, as the host reported it; may be empty.
  std::string by;
};

/// Reports about a task. They are called from inside calls to the driver or the ports.
struct TaskHooks {
  /// The next attempt is to run here (`TaskWork::next_place`), unless the task ends before.
  std::function<void(const Plan& plan)> on_next_place = [](const Plan&) {};
  /// That attempt begins: `on_attempt` follows.
  std::function<void(const Plan& plan)> on_new_place = [](const Plan&) {};
  /// Called before anything of this attempt happens; not for the first attempt. `begun`: when its
  /// beginning was recorded, if the task has a clock for that.
  std::function<void(int attempt, std::optional<milliseconds> begun)> on_attempt =
      [](int, std::optional<milliseconds>) {};
  std::function<void()> on_all_started = [] {};
  /// Called once for a resumed task: every host was reached again, or is not expected any more.
  std::function<void()> on_reached = [] {};
  /// A line for the user.
  std::function<void(const std::string& text)> on_note = [](const std::string&) {};
  /// A line for the user, or empty; `is_last`: no attempt can follow.
  std::function<void(const std::string& why, bool is_last)> on_stopping = [](const std::string&,
                                                                             bool) {};
  /// Nothing has come from the ranks for their `hang_timeout`: they are stopped.
  std::function<void(const HangReport& report)> on_hang = [](const HangReport&) {};
  std::function<void(int attempt, const RunOutcome& outcome)> on_attempt_over =
      [](int, const RunOutcome&) {};
  /// A rank has printed a line that matches a log policy.
  std::function<void(const LogPolicy& policy, const PolicyMatch& match)> on_match =
      [](const LogPolicy&, const PolicyMatch&) {};
  /// A rank has reported metrics.
  std::function<void(const MetricsReport& report)> on_report = [](const MetricsReport&) {};
  /// This rank was started, bound to these CPUs of its host.
  std::function<void(int rank, const std::vector<int>& cpus)> on_bound =
      [](int, const std::vector<int>&) {};
  /// A host has reported what this rank uses or has used.
  std::function<void(int rank, const RankUsage& usage)> on_usage = [](int, const RankUsage&) {};
  /// While an attempt starts: its host with this node rank has come to this step. The last call
  /// for a step counts.
  std::function<void(int node, StartStep step, Instant at)> on_start_step = [](int, StartStep,
                                                                               Instant) {};
  /// This many lines of metrics files were not reports.
  std::function<void(std::uint64_t lines)> on_ignored_lines = [](std::uint64_t) {};
  /// No attempt of this trial follows; this is how it has ended. Another trial may be begun.
  std::function<void(int trial, const RunOutcome& outcome)> on_trial_over =
      [](int, const RunOutcome&) {};
  std::function<void(const task_action::AnnounceRestart& restart)> on_restart =
      [](const task_action::AnnounceRestart&) {};
  std::function<void(const ContextSummary& context)> on_context = [](const ContextSummary&) {};
  std::function<void(const ContextProgress& progress)> on_context_progress =
      [](const ContextProgress&) {};
  /// After `TaskDriver::move`: no attempt runs any more.
  std::function<void()> on_moved = [] {};
  std::function<void()> on_over = [] {};  ///< output may still have to be written
  /// Instead of `on_over`: from now on the driver does nothing, and no other code may act for it.
  std::function<void(const TaskDisplacement& by)> on_displaced = [](const TaskDisplacement&) {};
};

}  // namespace train
