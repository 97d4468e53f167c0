// SPDX-License-Identifier: Apache-2.0
#include "cli/supervisor/placed_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cli/request/request.hpp"
#include "cli/request/transports.hpp"
#include "cli/supervisor/host_inquiry.hpp"
#include "cli/supervisor/waiting_task.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "launcher/live/live_occupancy.hpp"
#include "launcher/placement/refusal.hpp"

namespace train {

namespace {

// Limits how often a task is placed: another task may take slots that a host has just reported
// free.
constexpr int most_places = 5;

// The indexes of the hosts that the task was planned for.
std::vector<int> places_of(const HostInventory& inventory, const Trial& trial) {
  std::vector<int> places;
  for (std::size_t i = 0; i < inventory.hosts.size(); ++i)
    if (std::any_of(trial.hosts.begin(), trial.hosts.end(), [&](const PlannedHost& planned) {
          return planned.host.name == inventory.hosts[i].name;
        }))
      places.push_back(static_cast<int>(i));
  return places;
}

// "node[1-2]"
std::string hosts_of(const Trial& trial) { return summarize_hosts(host_names(trial)); }

bool uses_the_same_slots(const Trial& one, const Trial& other) {
  return std::equal(one.hosts.begin(), one.hosts.end(), other.hosts.begin(), other.hosts.end(),
                    [](const PlannedHost& a, const PlannedHost& b) {
                      return a.host.name == b.host.name && a.slots == b.slots;
                    });
}

void report_difference(const PlacedLaunch& launch, const Plan& now) {
  const HostInventory& inventory = launch.request.inventory;
  const Trial& before = launch.plan.trial;
  const auto holders =
      holders_of(inventory, places_of(inventory, before), launch.request.occupancy);
  TerminalText text = terminal_text("slots that were planned are held by others");
  for (const std::string& line : holder_lines(holders)) text += terminal_text("\n  {}", line);
  talk(text);
  if (uses_the_same_slots(before, now.trial))
    talk(terminal_text("task {}: on {} after all", launch.task.id, hosts_of(now.trial)));
  else if (hosts_of(before) == hosts_of(now.trial))
    talk(terminal_text("task {}: on other slots of {} instead", launch.task.id,
                       hosts_of(now.trial)));
  else
    talk(terminal_text("task {}: on {} instead of {}", launch.task.id, hosts_of(now.trial),
                       hosts_of(before)));
}

// Whether any host has a holder of this kind: a process outside of train, or a task.
bool has_holder(const std::vector<std::optional<HostReport>>& reports, bool is_foreign) {
  return std::any_of(reports.begin(), reports.end(), [=](const auto& report) {
    return report && std::any_of(report->holders.begin(), report->holders.end(),
                                 [=](const LeaseHolder& holder) {
                                   return (holder.pid > 0) == is_foreign && !holder.is_waiting;
                                 });
  });
}

Error with_way_out(Error error, const std::vector<std::optional<HostReport>>& reports) {
  if (error.error_class != ErrorClass::busy) return error;
  auto& hints = error.diagnostics.front().more_hints;
  hints.emplace_back("in line for them: --wait");
  if (has_holder(reports, true))
    hints.emplace_back("beside processes outside of train: --allow-busy");
  if (has_holder(reports, false)) hints.emplace_back("beside other tasks: --set leases=none");
  return error;
}

// Places the task again on the slots that are free now; returns an outcome if it cannot run.
std::optional<RunOutcome> place_anew(PlacedLaunch& launch, HostConnections& connections,
                                     StopSignals& signals) {
  std::optional<int> stop_signal;
  signals.deliver(connections.loop, [&](int number) {
    stop_signal = number;
    connections.loop.stop();
  });
  const auto seen = query_hosts(launch.request.inventory.hosts, connections);
  signals.hold_back();
  const Trial& before = launch.plan.trial;
  if (stop_signal) return not_run(before, *stop_signal);
  const auto reports = answered(seen, launch.task.id);
  launch.request.occupancy =
      occupancy_of(launch.request.inventory, launch.plan.experiment, reports);
  auto plan = plan_again(launch.request);
  if (!plan) return not_run(before, with_way_out(plan.error(), reports));
  report_difference(launch, *plan);
  TaskRecord task = launch.record_of(*plan);
  if (const auto recorded = launch.store->start_over(task); !recorded)
    return not_run(before, recorded.error());
  launch.plan = std::move(*plan);
  launch.task = std::move(task);
  return std::nullopt;
}

// The task runs now: closes the sessions to hosts that it was not placed on.
void leave_others(HostConnections& connections, const PlacedLaunch& launch) {
  connections.transports.keep_sessions(false);
  if (launch.plan.trials) return;  // other trials of the search may run there
  const std::vector<std::string> names = host_names(launch.plan.trial);
  const std::set<std::string> used(names.begin(), names.end());
  for (const Host& host : launch.request.inventory.hosts)
    if (!used.contains(host.name)) connections.transports.logins().forget(host.name);
}

bool is_busy(const RunOutcome& outcome) {
  return outcome.cause && outcome.cause->error.error_class == ErrorClass::busy;
}

}  // namespace

Ended launch_where_free(PlacedLaunch launch, StopSignals& signals) {
  HostConnections connections(launch.request.inventory.hosts);
  connections.transports.keep_sessions(true);
  std::optional<RunOutcome> outcome;
  std::optional<WaitingTask> line;
  std::string refusal;
  for (int places = 1;; ++places) {
    SupervisedTask supervised{launch.request, launch.plan, launch.task, launch.store, launch.tee};
    supervised.on_steady = launch.on_steady;
    supervised.may_go_back = launch.may_go_back;
    if (launch.plan.trials) supervised.search = &launch.experiment;
    supervised.hosts = task_hosts(launch.request.inventory, launch.plan);
    supervised.may_be_placed_anew = !outcome && (launch.wait || places < most_places);
    supervised.outcome = outcome;
    if (line) supervised.order = line->order();
    supervised.on_first_start = [&] {
      line.reset();
      leave_others(connections, launch);
    };
    Ended ended = supervise(std::move(supervised), connections, signals);
    if (!ended.is_refused || !ended.is_recorded) return ended;
    if (line && refusal != ended.last_words.text()) {
      refusal = ended.last_words.text();
      talk(terminal_text("task {}: not yet: {}", launch.task.id, ended.last_words));
    }
    if (!line) outcome = place_anew(launch, connections, signals);
    // Also after the last placement: the slots look free but cannot be leased, so a launch that may
    // wait stops retrying and joins the queue.
    const bool stands_in_line =
        launch.wait && (outcome ? is_busy(*outcome) : places >= most_places);
    if (!line && !stands_in_line) continue;
    if (!line) line.emplace(launch, connections);
    outcome = line->await_turn(signals);
    if (outcome) line.reset();
  }
}

}  // namespace train
