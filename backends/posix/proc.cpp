// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/proc.hpp"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

#include "backends/posix/files.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

constexpr size_t environment_limit = size_t{4} << 20;
constexpr size_t command_limit = 200;
constexpr size_t children_limit = size_t{8} << 20;

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

std::vector<int> numbered_entries(const std::string& path) {
  std::vector<int> result;
  for (const std::string& entry : names_in(FolderReader(path)))
    if (const auto value = number(entry)) result.push_back(*value);
  return result;
}

std::string path_of(int pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

void append_numbers(std::string_view text, std::vector<int>& numbers) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (const auto value = number(text.substr(0, end))) numbers.push_back(*value);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// The unit of times in /proc/PID/stat.
nanoseconds clock_tick() {
  static const nanoseconds tick = nanoseconds(std::chrono::seconds(1)) / ::sysconf(_SC_CLK_TCK);
  return tick;
}

std::uint64_t page_size() {
  static const auto size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

bool are_children_listed() {
  static const bool are = ::access("/proc/thread-self/children", F_OK) == 0;
  return are;
}

std::vector<int> children_of(int pid) {
  std::vector<int> children;
  if (!are_children_listed()) {
    for (const int process : all_processes())
      if (parent_of(process) == pid) children.push_back(process);
    return children;
  }
  for (const int thread : numbered_entries(path_of(pid, "task"))) {
    const std::string file = "task/" + std::to_string(thread) + "/children";
    append_numbers(read_small_file(path_of(pid, file.c_str()), children_limit), children);
  }
  return children;
}

std::vector<int> all_processes() { return numbered_entries("/proc"); }

std::optional<ProcessStatus> status_of(int pid) {
  // "PID (NAME) STATE PPID PGRP SESSION ...": the name may contain anything, so fields are counted
  // from its end: the start time, the 22nd field in proc(5), is the 20th after the name.
  constexpr int session_field = 3;
  constexpr int first_time_field = 11;  // user, system, then the two of reaped children
  constexpr int last_time_field = 14;
  constexpr int start_field = 19;
  constexpr int memory_field = 21;
  const std::string text = read_small_file(path_of(pid, "stat"));
  const size_t name_end = text.rfind(')');
  if (name_end == text.npos || name_end + 4 >= text.size()) return std::nullopt;
  ProcessStatus status;
  status.state = text[name_end + 2];
  std::string_view rest = std::string_view(text).substr(name_end + 2);
  std::uint64_t ticks = 0;
  std::uint64_t pages = 0;
  for (int field = 0; field <= memory_field; ++field) {
    const size_t end = std::min(rest.find(' '), rest.size());
    const char* const last = rest.data() + end;
    std::from_chars_result read{last, std::errc{}};
    if (field == 1) read = std::from_chars(rest.data(), last, status.parent);
    if (field == session_field) read = std::from_chars(rest.data(), last, status.session);
    if (field >= first_time_field && field <= last_time_field) {
      std::uint64_t time = 0;
      read = std::from_chars(rest.data(), last, time);
      ticks += time;
    }
    if (field == start_field) read = std::from_chars(rest.data(), last, status.start);
    if (field == memory_field) read = std::from_chars(rest.data(), last, pages);
    if (end == 0 || read.ec != std::errc{}) return std::nullopt;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  status.cpu = clock_tick() * static_cast<nanoseconds::rep>(ticks);
  status.memory = pages * page_size();
  return status;
}

std::uint64_t clock_ticks(Instant instant) {
  return static_cast<std::uint64_t>(instant / clock_tick());
}

milliseconds age_of(int pid) {
  static const auto ticks_per_second = static_cast<std::int64_t>(::sysconf(_SC_CLK_TCK));
  const auto status = status_of(pid);
  timespec now{};
  if (!status || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return milliseconds(0);
  const auto start = static_cast<std::int64_t>(status->start) * 1'000 / ticks_per_second;
  const auto age = std::int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000 - start;
  return milliseconds(std::max<std::int64_t>(0, age));
}

std::optional<int> parent_of(int pid) {
  const auto status = status_of(pid);
  if (!status) return std::nullopt;
  return status->parent;
}

std::optional<unsigned> owner_of(int pid) {
  struct stat status {};
  if (::stat(path_of(pid, "").c_str(), &status) != 0) return std::nullopt;
  return status.st_uid;
}

std::string command_of(int pid) {
  std::string command = read_small_file(path_of(pid, "cmdline"), command_limit);
  while (!command.empty() && command.back() == '\0') command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  return command.empty() ? name_of(pid) : escaped(command);
}

std::string words_of(int pid) {
  constexpr std::size_t most = 4096;
  return read_small_file(path_of(pid, "cmdline"), most);
}

std::string name_of(int pid) {
  std::string name = read_small_file(path_of(pid, "comm"));
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name.empty() ? name : "[" + escaped(name) + "]";
}

std::string environment_of(int pid) {
  return read_small_file(path_of(pid, "environ"), environment_limit);
}

std::vector<std::string_view> environment_entries(std::string_view environment) {
  std::vector<std::string_view> entries;
  while (!environment.empty()) {
    const std::size_t end = std::min(environment.find('\0'), environment.size());
    entries.push_back(environment.substr(0, end));
    environment.remove_prefix(std::min(end + 1, environment.size()));
  }
  return entries;
}

bool has_open(int pid, const std::function<bool(std::string_view target)>& is_wanted) {
  const std::string directory = path_of(pid, "fd/");
  for (const std::string& name : names_in(FolderReader(directory))) {
    std::array<char, PATH_MAX> target;
    const ssize_t size = ::readlink((directory + name).c_str(), target.data(), target.size());
    if (size > 0 && is_wanted({target.data(), static_cast<size_t>(size)})) return true;
  }
  return false;
}

std::set<std::uint64_t> pipes_of(int pid) {
  constexpr std::string_view pipe = "pipe:[";
  std::set<std::uint64_t> pipes;
  (void)has_open(pid, [&](std::string_view target) {
    std::uint64_t inode = 0;
    if (target.starts_with(pipe) &&
        std::from_chars(target.data() + pipe.size(), target.data() + target.size(), inode).ec ==
            std::errc{})
      pipes.insert(inode);
    return false;
  });
  return pipes;
}

Descriptor open_process(int pid) {
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

int send_signal(const Descriptor& process, int signal) {
  if (::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0) return 0;
  return errno;
}

std::vector<CgroupMembership> cgroups_in(std::string_view text) {
  std::vector<CgroupMembership> all;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second != line.npos)
      all.push_back({line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return all;
}

std::int64_t unix_time_ms() {
  timeval time{};
  ::gettimeofday(&time, nullptr);
  return std::int64_t{time.tv_sec} * 1000 + time.tv_usec / 1000;
}

std::string boot_id() { return first_line_of("/proc/sys/kernel/random/boot_id"); }

int usable_cpus() {
  // The kernel refuses a set that is smaller than its own, which can be larger than cpu_set_t.
  for (int bits = CPU_SETSIZE; bits <= (1 << 20); bits *= 2) {
    const std::size_t size = CPU_ALLOC_SIZE(bits);
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
        CPU_ALLOC(bits), [](cpu_set_t* allocated) { CPU_FREE(allocated); });
    if (!set) break;
    if (sched_getaffinity(0, size, set.get()) == 0)
      return std::max(1, CPU_COUNT_S(size, set.get()));
    if (errno != EINVAL) break;
  }
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

std::uint64_t total_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  return pages <= 0 ? 0 : static_cast<std::uint64_t>(pages) * page_size();
}

}  // namespace train
