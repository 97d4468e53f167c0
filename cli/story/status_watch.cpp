// SPDX-License-Identifier: Apache-2.0
#include "cli/story/status_watch.hpp"

#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "config_schema/text/text.hpp"
#include "launcher/run/run.hpp"
#include "launcher/task/task.hpp"

namespace train {

namespace {

constexpr std::string_view away = "out of reach";

std::string_view name_of(HostState state) { return host_states().row(state).name; }

// In the order of the steps of a host. One that is through with its part is not named.
std::vector<std::pair<std::string, std::vector<std::string>>> hosts_by_state(
    const ControlStatus& seen) {
  const std::array<std::string_view, 5> shown = {
      name_of(HostState::connecting), name_of(HostState::preparing), name_of(HostState::ready),
      name_of(HostState::running), away};
  std::vector<std::pair<std::string, std::vector<std::string>>> hosts;
  for (const std::string_view state : shown) {
    std::vector<std::string> names;
    for (const auto& host : seen.hosts)
      if (host.state == state || (state == away && host.state.starts_with(away)))
        names.push_back(host.name);
    if (!names.empty()) hosts.emplace_back(state, std::move(names));
  }
  return hosts;
}

LaunchStatus::Phase phase_of(const ControlStatus& seen) {
  if (seen.phase != attempt_states().row(AttemptState::running).name)
    return LaunchStatus::Phase::stopping;
  for (const auto& host : seen.hosts)
    for (const HostState state : {HostState::connecting, HostState::preparing, HostState::ready})
      if (host.state == name_of(state)) return LaunchStatus::Phase::starting;
  return LaunchStatus::Phase::running;
}

bool is_on_hosts(const ControlStatus& seen) {
  if (seen.hosts.empty()) return false;
  for (const AttemptState state : {AttemptState::running, AttemptState::failing})
    if (seen.phase == attempt_states().row(state).name) return true;
  return false;
}

}  // namespace

std::optional<LaunchStatus> StatusWatch::look(const ControlStatus& seen, const TaskRecord& task,
                                              Instant now) {
  if (!is_on_hosts(seen)) return std::nullopt;
  const LaunchStatus::Phase phase = phase_of(seen);
  if (!phase_) phase_began_ = now - age_;
  if (phase_ && (phase_ != phase || seen.attempt != attempt_)) phase_began_ = now;
  phase_ = phase;
  attempt_ = seen.attempt;
  LaunchStatus status;
  status.phase = phase;
  status.hosts = hosts_by_state(seen);
  status.ranks = task.world_size;
  status.ranks_left = seen.ranks_left;
  status.elapsed = std::chrono::duration_cast<milliseconds>(now - phase_began_);
  status.restart = seen.attempt;
  status.max_restarts = seen.max_restarts;
  if (!task.attempts.empty()) status.last_report = task.attempts.back().last_report;
  add_usage(seen, now, status);
  add_gpus(seen, task, status);
  return status;
}

// Ranks may share a GPU: each has a part of its use.
void StatusWatch::add_gpus(const ControlStatus& seen, const TaskRecord& task,
                           LaunchStatus& status) {
  std::set<std::pair<std::string_view, std::string_view>> gpus;  // host and slot
  for (const auto& [rank, usage] : seen.usage) {
    if (usage.gpu_memory) status.gpu_memory = status.gpu_memory.value_or(0) + *usage.gpu_memory;
    if (!usage.gpu || static_cast<std::size_t>(rank) >= task.ranks.size()) continue;
    constexpr double thousandths = 1'000;
    status.gpus = status.gpus.value_or(0) + static_cast<double>(*usage.gpu) / thousandths;
    const RankRecord& record = task.ranks[static_cast<std::size_t>(rank)];
    for (const std::string_view slot : split(record.slots, ',')) gpus.emplace(record.host, slot);
  }
  status.slots_with_gpus = static_cast<int>(gpus.size());
}

// Hosts report the CPU time of ranks every few seconds; between two reports the mean is known.
void StatusWatch::add_usage(const ControlStatus& seen, Instant now, LaunchStatus& status) {
  std::map<int, Used> used;
  for (const auto& [rank, usage] : seen.usage) {
    if (!usage.memory) continue;  // not reported yet, or ended
    const auto before = used_.find(rank);
    Used& now_used = used[rank];
    now_used = before == used_.end() ? Used{usage.cpu, now} : before->second;
    if (usage.cpu != now_used.cpu) {
      using Seconds = std::chrono::duration<double>;
      now_used = {usage.cpu, now, Seconds(usage.cpu - now_used.cpu) / Seconds(now - now_used.at)};
    }
    if (now_used.cpus) status.cpus = status.cpus.value_or(0) + *now_used.cpus;
    status.memory = status.memory.value_or(0) + *usage.memory;
  }
  used_ = std::move(used);
}

}  // namespace train
