// SPDX-License-Identifier: Apache-2.0
#include "backends/observe/usage_meter.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "backends/posix/files.hpp"

namespace train {

std::vector<UsageOfRank> UsageMeter::look(const std::map<int, int>& rank_of_process) {
  const Processes processes = processes_of(rank_of_process);
  processes_read_ = processes.size();
  std::map<int, Member> members = members_among(processes, rank_of_process);
  count_ended(members);
  members_ = std::move(members);
  std::map<int, Sum> sums;
  for (const auto& [pid, member] : members_) {
    sums[member.rank].cpu += member.cpu;
    sums[member.rank].memory += processes.at(pid).memory;
  }
  std::vector<UsageOfRank> used;
  for (const auto& [pid, rank] : rank_of_process) {
    const auto process = processes.find(pid);
    if (process == processes.end()) continue;
    Rank& known = ranks_.try_emplace(rank, Rank{process->second.start, {}, {}}).first->second;
    if (known.start != process->second.start) continue;  // the pid was reused
    const Sum& sum = sums[rank];
    RankUsage& usage = known.usage;
    const nanoseconds cpu = std::max(sum.cpu + known.ended, cpu_of_cgroup());
    usage.cpu = std::max(usage.cpu, std::chrono::floor<milliseconds>(cpu));
    usage.memory = sum.memory;
    usage.memory_peak = std::max(usage.memory_peak, sum.memory);
    used.push_back({rank, usage});
  }
  return used;
}

// All processes that may belong to a rank are below it, or adopted by its subreaper. A process
// whose parent ends during this walk is found at the end, among the children of the subreaper.
// Processes that belonged to a rank before are also looked up by pid, because a process that is not
// found counts as ended.
UsageMeter::Processes UsageMeter::processes_of(const std::map<int, int>& rank_of_process) const {
  Processes found;
  std::vector<int> new_ones;
  const auto add = [&](int pid, std::optional<std::uint64_t> start = {}) {
    const auto status = found.contains(pid) ? std::nullopt : status_of(pid);
    if (!status || (start && status->start != *start)) return;
    found.emplace(pid, *status);
    new_ones.push_back(pid);
  };
  if (!are_children_listed()) {
    for (const int pid : all_processes()) add(pid);
    return found;
  }
  for (const auto& [pid, rank] : rank_of_process) add(pid);
  std::set<int> subreapers;
  for (const auto& [pid, status] : found) subreapers.insert(status.parent);
  for (const auto& [pid, member] : members_) add(pid, member.start);
  do {
    while (!new_ones.empty()) {
      const int pid = new_ones.back();
      new_ones.pop_back();
      for (const int child : children_of(pid)) add(child);
    }
    for (const int pid : subreapers)
      for (const int child : children_of(pid)) add(child);
  } while (!new_ones.empty());
  return found;
}

// A process belongs to the rank of its parent; if the parent belongs to none, to the rank whose
// session it is in, or to which it belonged at the last look.
std::map<int, UsageMeter::Member> UsageMeter::members_among(
    const Processes& processes, const std::map<int, int>& rank_of_process) const {
  std::map<int, std::optional<int>> known;
  for (const auto& [pid, rank] : rank_of_process) known[pid] = rank;
  const auto left_by = [&](int pid, const ProcessStatus& status) -> std::optional<int> {
    const auto session = rank_of_process.find(status.session);
    if (session != rank_of_process.end()) return session->second;
    const auto before = members_.find(pid);
    if (before == members_.end() || before->second.start != status.start) return std::nullopt;
    return before->second.rank;
  };
  std::map<int, Member> members;
  for (const auto& [first, status_of_first] : processes) {
    // Goes up to the first process whose rank is known. Pids may be reused while /proc is read, so
    // parents may form a circle: each process is visited only once.
    std::vector<int> line;
    int at = first;
    for (auto process = processes.find(at); process != processes.end() && !known.contains(at);
         process = processes.find(at)) {
      known[at] = std::nullopt;
      line.push_back(at);
      at = process->second.parent;
    }
    const auto above = known.find(at);
    std::optional<int> rank = above == known.end() ? std::nullopt : above->second;
    for (auto pid = line.rbegin(); pid != line.rend(); ++pid) {
      const ProcessStatus& status = processes.at(*pid);
      const bool has_left = !rank;
      if (has_left) rank = left_by(*pid, status);
      known[*pid] = rank;
      if (rank) members[*pid] = {*rank, status.start, status.cpu, has_left};
    }
  }
  for (const auto& [pid, rank] : rank_of_process)
    if (const auto process = processes.find(pid); process != processes.end())
      members[pid] = {rank, process->second.start, process->second.cpu, false};
  return members;
}

// A process that has left its rank is not waited for by a process of the rank, so its CPU time is
// in no parent's account: it is added here when the process has ended.
void UsageMeter::count_ended(const std::map<int, Member>& members) {
  for (const auto& [pid, before] : members_) {
    const auto now = members.find(pid);
    const bool has_ended = now == members.end() || now->second.start != before.start;
    const auto rank = ranks_.find(before.rank);
    if (before.has_left && has_ended && rank != ranks_.end()) rank->second.ended += before.cpu;
  }
}

// Parses "usage_usec N", the first line of cpu.stat.
nanoseconds UsageMeter::cpu_of_cgroup() const {
  constexpr std::string_view name = "usage_usec ";
  if (cgroup_.empty()) return {};
  const std::string line = first_line_of(cgroup_ + "/cpu.stat");
  std::int64_t microseconds = 0;
  if (!line.starts_with(name)) return {};
  (void)std::from_chars(line.data() + name.size(), line.data() + line.size(), microseconds);
  return std::chrono::microseconds(microseconds);
}

}  // namespace train
