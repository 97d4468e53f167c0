// SPDX-License-Identifier: Apache-2.0
#include "backends/observe/memory_kills.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
#include "backends/posix/timespec.hpp"

namespace train {

namespace {

// A bound for reading: the kernel's log has some thousand records.
constexpr int most_records = 200'000;
constexpr std::size_t longest_record = 16u << 10;
constexpr std::size_t most_levels = 32;
// The clock of the kernel's log differs slightly from CLOCK_MONOTONIC.
constexpr nanoseconds clock_slack = std::chrono::seconds(2);
// The inode of the host's own process namespace (PROC_PID_INIT_INO).
constexpr ino_t host_pid_namespace = 0xEFFFFFFC;

template <class Number>
std::optional<Number> number_at(std::string_view text) {
  Number number{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc{}) return std::nullopt;
  return number;
}

// The value of the last ",NAME=VALUE" before `end`; `end` becomes its start. The text is parsed
// from its end, because names of processes and cgroups, which come first, may contain anything.
std::optional<std::string_view> take_last(std::string_view text, std::string_view name,
                                          std::size_t& end) {
  const std::string key = fmt::format(",{}=", name);
  const std::size_t at = text.substr(0, end).rfind(key);
  if (at == text.npos) return std::nullopt;
  const std::string_view value = text.substr(at + key.size(), end - at - key.size());
  end = at;
  return value;
}

// "oom-kill:constraint=C,nodemask=N,cpuset=C,mems_allowed=M,(global_oom|oom_memcg=PATH),
// task_memcg=PATH,task=NAME,pid=N,uid=N"
std::optional<KernelMemoryKill> kill_in_summary(std::string_view text) {
  if (!text.starts_with("oom-kill:")) return std::nullopt;
  std::size_t end = text.size();
  (void)take_last(text, "uid", end);
  const auto pid = take_last(text, "pid", end);
  const auto name = take_last(text, "task", end);
  (void)take_last(text, "task_memcg", end);
  const auto number = pid ? number_at<int>(*pid) : std::nullopt;
  if (!number || !name) return std::nullopt;
  KernelMemoryKill kill{*number, std::string(*name), false, {}, Instant(0)};
  const auto limiting = take_last(text, "oom_memcg", end);
  kill.is_of_cgroup = limiting.has_value();
  if (limiting) kill.limiting_cgroup = *limiting;
  return kill;
}

// "Memory cgroup out of memory: Killed process 4711 (NAME) total-vm:..."
std::optional<KernelMemoryKill> kill_in_sentence(std::string_view text) {
  constexpr std::string_view words = "Killed process ";
  const std::size_t at = text.find(words);
  if (at == text.npos || text.substr(0, at).find("ut of memory") == text.npos) return std::nullopt;
  const std::string_view rest = text.substr(at + words.size());
  const auto pid = number_at<int>(rest);
  const std::size_t open = rest.find('(');
  const std::size_t close = rest.find(") total-vm");
  if (!pid || open == rest.npos || close == rest.npos || close < open) return std::nullopt;
  return KernelMemoryKill{*pid,
                          std::string(rest.substr(open + 1, close - open - 1)),
                          text.starts_with("Memory cgroup"),
                          {},
                          Instant(0)};
}

// The number N of the line "NAME N".
std::uint64_t count_in(const std::string& lines, std::string_view name) {
  const std::string all = "\n" + lines;
  const std::size_t at = all.find(fmt::format("\n{} ", name));
  if (at == all.npos) return 0;
  return number_at<std::uint64_t>(std::string_view(all).substr(at + name.size() + 2)).value_or(0);
}

// The path of this process in the hierarchy that `is_it` selects; `nullopt` if there is none.
std::optional<std::string> own_path(bool (*is_it)(std::string_view controllers)) {
  const std::string text = read_small_file("/proc/self/cgroup");
  for (const auto& [hierarchy, path] : cgroups_in(text))
    if (is_it(hierarchy)) return std::string(path);
  return std::nullopt;
}

bool is_of_memory(std::string_view controllers) {
  return fmt::format(",{},", controllers).find(",memory,") != std::string::npos;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::uint64_t mib = 1u << 20;
  constexpr std::uint64_t gib = 1u << 30;
  if (bytes >= gib) return fmt::format("{:.4g} GiB", static_cast<double>(bytes) / gib);
  return fmt::format("{:.4g} MiB", static_cast<double>(bytes) / mib);
}

std::string of_cgroup(const std::string& limit) {
  return limit.empty() ? "its cgroup's limit" : "its cgroup's limit of " + limit;
}

constexpr const char* of_host = "the host's memory";

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

Instant kernel_log_time() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return in_nanoseconds(now);
}

}  // namespace

std::optional<KernelMemoryKill> memory_kill_in(std::string_view record) {
  const std::size_t text = record.find(';');
  if (text == record.npos) return std::nullopt;
  std::string_view words = record.substr(text + 1);
  words = words.substr(0, words.find('\n'));
  auto kill = kill_in_summary(words);
  if (!kill) kill = kill_in_sentence(words);
  if (!kill) return std::nullopt;
  std::size_t comma = record.find(',');
  comma = comma == record.npos ? comma : record.find(',', comma + 1);
  if (comma < text)
    kill->at =
        std::chrono::microseconds(number_at<std::int64_t>(record.substr(comma + 1)).value_or(0));
  return kill;
}

MemoryKillPlaces memory_kill_places() {
  MemoryKillPlaces places;
  struct stat pids {};
  places.has_host_pids =
      ::stat("/proc/self/ns/pid", &pids) == 0 && pids.st_ino == host_pid_namespace;
  return places;
}

MemoryKills::MemoryKills(std::string cgroup, MemoryKillPlaces places)
    : places_(std::move(places)), since_(kernel_log_time()) {
  std::string root = places_.cgroups;
  if (cgroup.empty())
    if (const auto own = own_path([](std::string_view names) { return names.empty(); }))
      cgroup = root + *own;
  if (const auto own = own_path(is_of_memory); own && exists(places_.memory_cgroups)) {
    is_first_version_ = true;
    root = places_.memory_cgroups;
    cgroup = root + *own;
  }
  // Not every cgroup has counters; in version 2, the cgroups around it count its kills too.
  while (cgroup.size() >= root.size() && cgroup.starts_with(root) && levels_.size() < most_levels) {
    const std::string counts =
        cgroup + (is_first_version_ ? "/memory.oom_control" : "/memory.events");
    if (exists(counts)) levels_.push_back(read(cgroup));
    if (is_first_version_ && !levels_.empty()) break;
    cgroup.resize(cgroup.rfind('/') == cgroup.npos ? 0 : cgroup.rfind('/'));
  }
}

MemoryKills::Level MemoryKills::read(const std::string& directory) const {
  if (is_first_version_)
    return {directory, count_in(read_small_file(directory + "/memory.oom_control"), "oom_kill"),
            number_at<std::uint64_t>(read_small_file(directory + "/memory.failcnt")).value_or(0)};
  const std::string events = read_small_file(directory + "/memory.events");
  return {directory, count_in(events, "oom_kill"), count_in(events, "oom")};
}

// Empty if the cgroup has no limit, or the limit is not known.
std::string MemoryKills::limit_of(const std::string& directory) const {
  constexpr std::uint64_t none = std::uint64_t{1} << 60;
  const auto limit = number_at<std::uint64_t>(
      read_small_file(directory + (is_first_version_ ? "/memory.limit_in_bytes" : "/memory.max")));
  return limit && *limit < none ? bytes_text(*limit) : std::string();
}

std::string MemoryKills::limit_of(const KernelMemoryKill& kill) const {
  if (!kill.is_of_cgroup) return of_host;
  const std::string root = is_first_version_ ? places_.memory_cgroups : places_.cgroups;
  const bool is_plain = kill.limiting_cgroup.starts_with('/') &&
                        (kill.limiting_cgroup + "/").find("/../") == std::string::npos;
  return of_cgroup(is_plain ? limit_of(root + kill.limiting_cgroup) : std::string());
}

std::optional<KernelMemoryKill> MemoryKills::logged_kill(int pid) const {
  if (!places_.has_host_pids) return std::nullopt;
  const Descriptor log(::open(places_.kernel_log.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  std::optional<KernelMemoryKill> found;
  std::string record(longest_record, '\0');
  for (int i = 0; log && i < most_records; ++i) {
    const ssize_t size =
        uninterrupted([&] { return ::read(log.get(), record.data(), record.size()); });
    if (size < 0 && errno == EPIPE) continue;  // overwritten meanwhile; the next read goes on
    if (size <= 0) break;
    auto kill = memory_kill_in({record.data(), static_cast<std::size_t>(size)});
    if (!kill || kill->pid != pid || kill->at + clock_slack < since_) continue;
    // The "Killed process" record that follows the summary does not name the limiting cgroup.
    const bool says_less = found && kill->limiting_cgroup.empty() && found->is_of_cgroup;
    if (!says_less) found = std::move(kill);
  }
  return found;
}

std::optional<message::MemoryKill> MemoryKills::counted_kill() {
  if (levels_.empty()) return std::nullopt;
  if (read(levels_.front().directory).kills <= levels_.front().kills) return std::nullopt;
  message::MemoryKill kill{of_host, {}};
  bool has_limit = false;
  for (Level& level : levels_) {
    const Level now = read(level.directory);
    ++level.kills;  // accounts for one rank; each other rank accounts for its own
    if (!has_limit && now.hits > level.hits) {
      kill.limit = of_cgroup(limit_of(level.directory));
      has_limit = true;
    }
  }
  return kill;
}

std::optional<message::MemoryKill> MemoryKills::kill_of(int pid) {
  const auto logged = logged_kill(pid);
  auto counted = counted_kill();
  if (!logged) return counted;
  return message::MemoryKill{limit_of(*logged), fmt::format("{} ({})", logged->pid, logged->name)};
}

std::optional<message::MemoryKill> MemoryKills::kill_below() { return counted_kill(); }

}  // namespace train
