// SPDX-License-Identifier: Apache-2.0
#include "backends/observe/host_room.hpp"

#include <fmt/format.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"

namespace train {

namespace {

// The descriptors that the agent keeps open for a rank: its pidfd and two pipes.
constexpr int descriptors_of_rank = 3;
// A port is held for IPv4 and IPv6.
constexpr int descriptors_of_port = 2;
// Descriptors that are open for a moment only: the other ends of pipes while a rank starts, files
// of ranks, /proc.
constexpr int passing_descriptors = 8;
// An agent has some 20 open before it starts ranks.
constexpr int more_than_agents_have = 1'000;
// Threads that the agent starts later.
constexpr int passing_threads = 3;
// Files that it opens for a moment only.
constexpr int passing_files = 2;

std::optional<std::int64_t> number_in(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

std::int64_t count_open_files() {
  const auto names = names_in(FolderReader("/proc/self/fd"));
  return static_cast<std::int64_t>(names.size()) + passing_files;
}

// All threads of the machine, the last part of "0.10 0.20 0.30 2/345 6789".
std::optional<std::int64_t> threads_of_machine() {
  const std::string text = read_small_file("/proc/loadavg");
  const std::size_t slash = text.find('/');
  return slash == text.npos ? std::nullopt : number_in(text.substr(slash + 1));
}

// How many threads this user has. The kernel counts them by real user; /proc shows the effective
// user, which differs only for setuid programs.
std::int64_t threads_of_user() {
  std::int64_t count = 0;
  for (const int pid : all_processes()) {
    struct stat status {};
    if (::stat(fmt::format("/proc/{}/task", pid).c_str(), &status) != 0) continue;
    if (status.st_uid == ::getuid()) count += static_cast<std::int64_t>(status.st_nlink) - 2;
  }
  return count;
}

// True for root and for processes with CAP_SYS_ADMIN or CAP_SYS_RESOURCE. Also true in a user
// namespace: the processes of this user outside of it cannot be seen, so the limit cannot be
// checked.
bool may_have_any_number_of_processes() {
  constexpr unsigned long long may_administer = 1ull << 21 | 1ull << 24;  // SYS_ADMIN, SYS_RESOURCE
  unsigned inside = 0;
  unsigned outside = 0;
  unsigned count = 0;
  const std::string map = read_small_file("/proc/self/uid_map");
  const bool is_first_namespace =
      ::sscanf(map.c_str(), "%u %u %u", &inside, &outside, &count) == 3 && inside == 0 &&
      outside == 0 && count == ~0u;
  if (!is_first_namespace || ::getuid() == 0) return true;
  const std::string status = read_small_file("/proc/self/status");
  const std::size_t place = status.find("\nCapEff:");
  unsigned long long capabilities = 0;
  return place != status.npos &&
         ::sscanf(status.c_str() + place, "\nCapEff: %llx", &capabilities) == 1 &&
         (capabilities & may_administer) != 0;
}

std::string ranks_take(int ranks, std::int64_t needed, const char* what) {
  return fmt::format("its {} {} {} {} {}", ranks, ranks == 1 ? "rank" : "ranks",
                     ranks == 1 ? "takes" : "take", needed, what);
}

std::optional<RoomLimit> descriptor_limit(int ranks, int ports) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::nullopt;
  RoomLimit room;
  room.needed = std::int64_t{descriptors_of_rank} * ranks +
                std::int64_t{descriptors_of_port} * ports + passing_descriptors;
  room.needs = ranks_take(ranks, room.needed, "descriptors of the agent");
  room.used_by = "the agent";
  room.name = "open files, ulimit -Hn";
  room.most = static_cast<std::int64_t>(limit.rlim_cur);
  // Far below the limit, open descriptors need not be counted.
  if (room.needed + more_than_agents_have <= room.most) return std::nullopt;
  room.used = count_open_files();
  room.hint = "raise this user's hard limit of open files there, or place fewer ranks on it";
  return room;
}

RoomLimit process_limit(int ranks) {
  RoomLimit room;
  room.needed = ranks + passing_threads;
  room.needs = ranks_take(ranks, room.needed, "processes and threads");
  room.hint = "end what is not needed there, raise the limit, or place fewer ranks on it";
  return room;
}

std::optional<RoomLimit> user_limit(int ranks, std::optional<std::int64_t> of_machine) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::nullopt;
  RoomLimit room = process_limit(ranks);
  room.most = static_cast<std::int64_t>(limit.rlim_cur);
  // If even all threads of the machine are within the limit, the user's need not be counted.
  if (of_machine && *of_machine + room.needed <= room.most) return std::nullopt;
  if (may_have_any_number_of_processes()) return std::nullopt;
  room.used_by = fmt::format("user {}", ::getuid());
  room.name = "processes, ulimit -u";
  room.used = threads_of_user();
  return room;
}

std::optional<RoomLimit> machine_limit(int ranks, std::optional<std::int64_t> of_machine) {
  const auto most = number_in(read_small_file("/proc/sys/kernel/threads-max"));
  if (!most || !of_machine) return std::nullopt;
  RoomLimit room = process_limit(ranks);
  room.used_by = "the machine";
  room.name = "threads, sysctl kernel.threads-max";
  room.used = *of_machine;
  room.most = *most;
  return room;
}

// The path in "0::/a/b" (cgroup version 2) or "5:pids:/a/b" (version 1); empty when there is
// neither.
std::string group_of(const std::string& groups, std::string& subfolder) {
  std::string found;
  for (std::size_t begin = 0; begin < groups.size();) {
    const std::size_t end = std::min(groups.find('\n', begin), groups.size());
    const std::string line = groups.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool is_pids = controllers.find(",pids,") != controllers.npos;
    if (!is_pids && controllers != ",,") continue;
    if (!is_pids && !found.empty()) continue;
    subfolder = is_pids ? "/pids" : "";
    found = line.substr(second + 1);
  }
  return found;
}

}  // namespace

std::vector<Diagnostic> shortages(const std::vector<RoomLimit>& limits) {
  std::vector<Diagnostic> problems;
  for (const RoomLimit& limit : limits) {
    if (limit.used + limit.needed <= limit.most) continue;
    problems.push_back({{},
                        {},
                        fmt::format("{}, but {} has {} of at most {} ({})", limit.needs,
                                    limit.used_by, limit.used, limit.most, limit.name),
                        limit.hint});
  }
  return problems;
}

std::vector<RoomLimit> cgroup_limits(const std::string& groups, const std::string& mounted_in) {
  std::vector<RoomLimit> limits;
  std::string subfolder;
  std::string group = group_of(groups, subfolder);
  while (!group.empty()) {
    const std::string folder = mounted_in + subfolder + (group == "/" ? "" : group);
    const auto most = number_in(read_small_file(folder + "/pids.max"));  // not when it is "max"
    const auto used = number_in(read_small_file(folder + "/pids.current"));
    if (most && used) {
      RoomLimit& room = limits.emplace_back();
      room.used_by = fmt::format("control group '{}'", group);
      room.name = "processes, pids.max";
      room.used = *used;
      room.most = *most;
    }
    if (group == "/") break;
    const std::size_t slash = group.rfind('/');
    if (slash == group.npos) break;
    group = slash == 0 ? "/" : group.substr(0, slash);
  }
  return limits;
}

std::vector<RoomLimit> room_limits(int ranks, int ports) {
  std::vector<RoomLimit> limits;
  const auto add = [&](std::optional<RoomLimit> limit) {
    if (limit) limits.push_back(std::move(*limit));
  };
  const auto of_machine = threads_of_machine();
  add(descriptor_limit(ranks, ports));
  add(user_limit(ranks, of_machine));
  add(machine_limit(ranks, of_machine));
  for (RoomLimit& group : cgroup_limits(read_small_file("/proc/self/cgroup"), "/sys/fs/cgroup")) {
    const RoomLimit needs = process_limit(ranks);
    group.needs = needs.needs;
    group.needed = needs.needed;
    group.hint = needs.hint;
    limits.push_back(std::move(group));
  }
  return limits;
}

}  // namespace train
