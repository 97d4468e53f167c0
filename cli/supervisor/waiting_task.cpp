// SPDX-License-Identifier: Apache-2.0
#include "cli/supervisor/waiting_task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "backends/posix/proc.hpp"
#include "cli/request/request.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/text/duration.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/lease/lease_words.hpp"
#include "launcher/live/live_occupancy.hpp"
#include "launcher/placement/refusal.hpp"

namespace train {

namespace {

// The same interval as that of a launcher whose task runs.
constexpr std::chrono::seconds alive_pause{5};

// "1st", "2nd", "3rd", "11th", "21st".
std::string ordinal(int number) {
  const bool is_teen = number % 100 >= 11 && number % 100 <= 13;
  const char* const endings[] = {"th", "st", "nd", "rd"};
  const int last = number % 10;
  return fmt::format("{}{}", number, is_teen || last > 3 ? "th" : endings[last]);
}

std::string counted_slots(const std::string& slots) {
  return slots + (slots == "1" ? " slot" : " slots");
}

// "task abcd2345 ('digits') of alice"
std::string words_of(const Ticket& ticket) {
  LeaseHolder holder{.task = ticket.order.task, .name = ticket.name};
  holder.uid = ticket.uid;
  holder.user = ticket.user;
  return short_words_of(holder);
}

Ticket ticket_of(const PlacedLaunch& launch) {
  Ticket ticket;
  ticket.priority = launch.plan.experiment.priority;
  ticket.name = launch.task.name;
  ticket.launcher = launcher_words();
  ticket.wants = launch.task.slots;
  ticket.hosts = static_cast<int>(launch.request.inventory.hosts.size());
  return ticket;
}

}  // namespace

WaitingTask::WaitingTask(PlacedLaunch& launch, HostConnections& connections)
    : launch_(launch),
      loop_(connections.loop),
      driver_({loop_, connections.transports}, launch.request.inventory.hosts, launch.task.id,
              ticket_of(launch), launch.wait->limit,
              {[this] { return plan(); }, [this] { report_place(); },
               [this](int host, const Error& why) { report_lost(host, why); },
               [this](const auto& clocks) { report_clocks(clocks); },
               [this](const auto& passed) { report_passed(passed); },
               [this](int host, const HostReport& report) {
                 return idle_slots(launch_.request.inventory.hosts[static_cast<std::size_t>(host)],
                                   launch_.plan.experiment.needs, report);
               },
               [this](const Error& why) { give_up(why); }}) {}

std::optional<RunOutcome> WaitingTask::await_turn(StopSignals& signals) {
  const Trial& before = launch_.plan.trial;
  if (auto recorded = record(TaskState::waiting, launch_.plan); !recorded)
    return not_run(before, recorded.error());
  planned_.reset();
  is_taking_ = false;
  signals.deliver(loop_, [this](int number) {
    stop_signal_ = number;
    loop_.stop();
  });
  loop_.post([this] {
    if (std::exchange(has_begun_, true))
      driver_.refused();
    else
      driver_.start(unix_time_ms() * 1'000'000);
  });
  note_alive();
  loop_.run();
  alive_.reset();
  signals.hold_back();
  if (stop_signal_) return not_run(before, *stop_signal_);
  if (gave_up_) return not_run(before, *gave_up_);
  std::string where = summarize_hosts(host_names(planned_->trial));
  if (where != told_turn_ && launch_.tee.progress != Progress::none)
    talk(terminal_text("task {}: it is its turn, on {}", launch_.task.id, where));
  told_turn_ = std::move(where);
  if (auto recorded = record(TaskState::starting, *planned_); !recorded)
    return not_run(before, recorded.error());
  launch_.plan = std::move(*planned_);
  order_ = driver_.order();
  is_taking_ = true;
  return std::nullopt;
}

// A waiting task has no ranks, so nothing outlives its launcher.
Result<void> WaitingTask::record(TaskState state, const Plan& plan) {
  TaskRecord task = launch_.record_of(plan);
  task.state = state;
  if (state == TaskState::waiting) task.outlives_ms = 0;
  auto recorded = launch_.store->start_over(task);
  if (recorded) launch_.task = std::move(task);
  return recorded;
}

void WaitingTask::note_alive() {
  launch_.store->note_alive(launch_.task.id);
  alive_ = loop_.after(alive_pause, [this] { note_alive(); });
}

// Hosts that cannot be queried count as fully occupied.
Occupancy WaitingTask::unreachable() const {
  const HostInventory& inventory = launch_.request.inventory;
  const auto reports = driver_.reports();
  Occupancy all;
  for (std::size_t host = 0; host < reports.size(); ++host)
    if (!reports[host]) all.push_back(whole_host(inventory.hosts[host], "nobody who can be asked"));
  return all;
}

// On hosts where it is not the task's turn, no slot counts as free.
Occupancy WaitingTask::occupancy() const {
  const HostInventory& inventory = launch_.request.inventory;
  const auto reports = driver_.reports();
  Occupancy all = occupancy_of(inventory, launch_.plan.experiment, reports);
  for (std::size_t host = 0; host < reports.size(); ++host)
    if (reports[host] && !driver_.is_turn_on(static_cast<int>(host)))
      all.push_back(whole_host(inventory.hosts[host], "those before it in line"));
  for (auto& each : unreachable()) all.push_back(std::move(each));
  return all;
}

Turn WaitingTask::plan() {
  launch_.request.occupancy = occupancy();
  auto plan = plan_again(launch_.request);
  if (plan) {
    planned_ = std::move(*plan);
    stands_aside_ = false;
    loop_.stop();
    return Turn::fits;
  }
  if (plan.error().error_class == ErrorClass::busy) return turn_without_slots();
  give_up(plan.error());
  return Turn::held;
}

// A task that needs unreachable hosts lets others go first.
Turn WaitingTask::turn_without_slots() {
  auto idle = launch_.request;
  idle.occupancy = unreachable();
  const bool lacks = !idle.occupancy.empty() && !plan_again(idle);
  if (std::exchange(stands_aside_, lacks) != lacks)
    talk(lacks ? terminal_text("task {}: others go before it until {} can be reached",
                               launch_.task.id, summarize_hosts(names_of_unreachable()))
               : terminal_text("task {}: it has its place in the line again", launch_.task.id));
  return lacks ? Turn::lacks_hosts : Turn::held;
}

std::vector<std::string> WaitingTask::names_of_unreachable() const {
  std::vector<std::string> names;
  const auto reports = driver_.reports();
  for (std::size_t host = 0; host < reports.size(); ++host)
    if (!reports[host]) names.push_back(launch_.request.inventory.hosts[host].name);
  return names;
}

std::vector<std::string> WaitingTask::lines_of_holders() const {
  const HostInventory& inventory = launch_.request.inventory;
  std::vector<int> hosts(inventory.hosts.size());
  std::iota(hosts.begin(), hosts.end(), 0);
  Occupancy held = occupancy_of(inventory, launch_.plan.experiment, driver_.reports());
  return holder_lines(holders_of(inventory, hosts, held));
}

TerminalText WaitingTask::place_words() const {
  const PlaceInLine place = driver_.place();
  std::vector<std::string> names;
  for (const Host& host : launch_.request.inventory.hosts) names.push_back(host.name);
  return terminal_text("{} on {}, {} in line{}", counted_slots(launch_.task.slots),
                       summarize_hosts(names, 3), ordinal(place.number),
                       place.before ? ", behind " + words_of(*place.before) : "");
}

void WaitingTask::report_place() {
  if (is_taking_) return;
  if (launch_.tee.progress != Progress::none) {
    TerminalText text = terminal_text("task {}: waits for {}", launch_.task.id, place_words());
    for (const std::string& line : lines_of_holders()) text += terminal_text("\n  {}", line);
    talk(text);
  }
  if (!std::exchange(is_steady_, true)) launch_.on_steady({});
}

void WaitingTask::report_lost(int host, const Error& why) {
  if (is_taking_) return;
  talk(terminal_text("host '{}' is not waited for until it can be reached: {}",
                     launch_.request.inventory.hosts[static_cast<std::size_t>(host)].name,
                     why.diagnostics.front().message));
}

void WaitingTask::report_clocks(const waiter_action::ReportClocks& clocks) {
  const auto& hosts = launch_.request.inventory.hosts;
  const std::string& ahead = hosts[static_cast<std::size_t>(clocks.ahead)].name;
  const std::string& behind = hosts[static_cast<std::size_t>(clocks.behind)].name;
  talk(terminal_text(
      "task {}: the clock of host '{}' is {} ahead of that of '{}': its place in line does not go "
      "by that of '{}'",
      launch_.task.id, ahead, duration_text(clocks.lead), behind,
      clocks.is_passed_over ? ahead : behind));
}

void WaitingTask::report_passed(const waiter_action::ReportPassed& passed) {
  const auto& host = launch_.request.inventory.hosts[static_cast<std::size_t>(passed.host)];
  const std::string slots = counted_slots(passed.other.wants);
  talk(terminal_text("task {}: on host '{}' it goes before {}, {}", launch_.task.id, host.name,
                     words_of(passed.other),
                     passed.other.hosts == 1
                         ? "which has not taken the " + slots + " that lay free there"
                         : "for which " + slots + " stay free there"));
}

void WaitingTask::give_up(const Error& why) {
  if (why.error_class == ErrorClass::busy) {
    gave_up_ = with_hints(make_error(ErrorClass::busy, fmt::format("{}: waited for {}",
                                                                   why.diagnostics.front().message,
                                                                   place_words().text())),
                          lines_of_holders());
  } else {
    gave_up_ = why;
  }
  loop_.stop();
}

}  // namespace train
