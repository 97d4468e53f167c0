// SPDX-License-Identifier: Apache-2.0
#include "backends/process/agent_record.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"

namespace train {

namespace {

constexpr size_t record_limit = size_t{4} << 20;
constexpr size_t line_limit = 4096;

std::string link_target(const char* path) {
  char text[64];
  const ssize_t size = ::readlink(path, text, sizeof text);
  return {text, size > 0 ? static_cast<size_t>(size) : 0};
}

// Each SSH login has its own session number if audit is on, and its own cgroup if systemd runs;
// elsewhere all logins look alike.
std::string login_of(const std::string& process) {
  const std::string cgroups = "\n" + read_small_file("/proc/" + process + "/cgroup");
  const size_t systemd = cgroups.find(":name=systemd:");
  const size_t start =
      std::min(systemd != cgroups.npos ? systemd : cgroups.find("\n0::/") + 1, cgroups.size());
  return first_line_of("/proc/" + process + "/sessionid").substr(0, line_limit) + " " +
         cgroups.substr(start, std::min(cgroups.find('\n', start) - start, line_limit));
}

template <class Number>
bool take_number(std::string_view& text, Number& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc{} || number < 1) return false;
  text.remove_prefix(static_cast<size_t>(read.ptr - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  return true;
}

// "3" or, for trial 12, "3.12".
void take_rank_number(std::string_view text, AgentRecord::Rank& rank) {
  const char* const end = text.data() + text.size();
  int number = -1;
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc{}) return;
  rank.number = std::max(number, -1);
  int trial = 0;
  if (read.ptr != end && *read.ptr == '.' &&
      std::from_chars(read.ptr + 1, end, trial).ec == std::errc{})
    rank.trial = std::max(trial, 0);
}

void parse_line(std::string_view line, AgentRecord& record) {
  const size_t space = line.find(' ');
  if (space == line.npos) return;
  const std::string_view word = line.substr(0, space);
  std::string_view rest = line.substr(space + 1);
  if (word == "boot") record.boot_id = rest;
  if (word == "namespace") record.pid_namespace = rest;
  if (word == "login") record.login = rest;
  if (word == "cgroup") record.cgroup = rest;
  if (word == "agent" && take_number(rest, record.agent))
    (void)take_number(rest, record.agent_start);
  if (word != "rank") return;
  AgentRecord::Rank rank;
  if (!take_number(rest, rank.pid) || !take_number(rest, rank.started_by)) return;
  std::uint64_t pipe = 0;
  while (take_number(rest, pipe)) rank.pipes.insert(pipe);
  if (rest.starts_with('#')) take_rank_number(rest.substr(1), rank);
  record.ranks.push_back(std::move(rank));
}

bool append(int file, const std::string& text) {
  return ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string cgroup_name(AttemptId attempt) {
  return fmt::format("{}-{}", attempt.trial, attempt.attempt);
}

std::uint64_t pipe_of(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode) ? status.st_ino : 0;
}

}  // namespace

AgentRecord record_of_this_process() { return record_of(::getpid()); }

AgentRecord record_of(int pid) {
  AgentRecord record;
  record.boot_id = boot_id();
  record.pid_namespace = link_target("/proc/self/ns/pid");
  record.agent = pid;
  record.login = login_of(std::to_string(pid));
  if (const auto status = status_of(record.agent)) record.agent_start = status->start;
  return record;
}

std::string login_of_process(int pid) { return login_of(std::to_string(pid)); }

AgentRecord parse_agent_record(std::string_view text) {
  AgentRecord record;
  while (true) {
    const size_t end = text.find('\n');
    if (end == text.npos) return record;  // a line without a newline was cut off
    parse_line(text.substr(0, end), record);
    text.remove_prefix(end + 1);
  }
}

std::string to_text(const AgentRecord::Rank& rank) {
  std::string text = fmt::format("rank {} {}", rank.pid, rank.started_by);
  for (const std::uint64_t pipe : rank.pipes) text += fmt::format(" {}", pipe);
  if (rank.number >= 0) text += fmt::format(" #{}", rank.number);
  if (rank.number >= 0 && rank.trial > 0) text += fmt::format(".{}", rank.trial);
  return text + "\n";
}

std::string to_text(const AgentRecord& record) {
  std::string text =
      fmt::format("boot {}\nnamespace {}\nagent {} {}\nlogin {}\n", record.boot_id,
                  record.pid_namespace, record.agent, record.agent_start, record.login);
  if (!record.cgroup.empty()) text += fmt::format("cgroup {}\n", record.cgroup);
  for (const AgentRecord::Rank& rank : record.ranks) text += to_text(rank);
  return text;
}

AgentRecord read_agent_record(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid() ||
      (status.st_mode & 022) != 0)
    return {};
  std::string text(std::min(static_cast<size_t>(status.st_size), record_limit), '\0');
  const ssize_t size = read_whole_at(file, text.data(), text.size(), 0);
  return parse_agent_record({text.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))});
}

AgentRecorder::AgentRecorder() : agent_(::getpid()) {}

Result<void> AgentRecorder::begin(const HostDirectory& directory, const std::string& key,
                                  RankCgroups cgroups) {
  const std::lock_guard lock(files_mutex_);
  if (file_) return {};
  const std::string path = directory.lock_path(key);
  Descriptor file(::openat(directory.descriptor(), HostDirectory::lock_name(key).c_str(),
                           O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
  if (!file && errno == ENOENT) return {};
  auto moved = file ? above_standard(std::move(file)) : Result<Descriptor>(Descriptor());
  if (!moved) return tl::make_unexpected(moved.error());
  AgentRecord record = record_of(agent_);
  if (cgroups == RankCgroups::where_possible)
    record.cgroup = path_for_cgroup(cgroup_name(key, record.agent)).value_or("");
  // The cgroup is recorded before it is made, so that a sweep finds it even if this process dies in
  // between.
  if (!*moved || !append(moved->get(), to_text(record)))
    return fail(ErrorClass::host, fmt::format("cannot write '{}': {}", path, system_reason(errno)),
                errno == ENOSPC ? "make room on this file system" : "");
  file_ = std::move(*moved);
  if (!record.cgroup.empty() && Descriptor(make_cgroup(record.cgroup))) cgroup_ = record.cgroup;
  return {};
}

Descriptor AgentRecorder::make_cgroup_of(AttemptId attempt) {
  const std::lock_guard lock(files_mutex_);
  if (cgroup_.empty()) return {};
  std::set<std::string> used;
  {
    const std::lock_guard names_lock(attempts_mutex_);
    for (const AttemptId each : attempts_) used.insert(cgroup_name(each));
    attempts_.insert(attempt);
  }
  remove_cgroups_below(cgroup_, used);
  return Descriptor(make_cgroup(cgroup_ + "/" + cgroup_name(attempt)));
}

void AgentRecorder::forget(AttemptId attempt) {
  const std::lock_guard lock(attempts_mutex_);
  attempts_.erase(attempt);
}

// A line that cannot be written (the disk is full) is no reason to end the rank: a sweep also finds
// it by the mark in its environment. Does not read /proc/PID: the kernel would then have to clean
// up there when the rank ends, which takes longer than this whole function.
void AgentRecorder::add(const SpawnedProcess& process, int trial, int number) {
  const std::lock_guard lock(files_mutex_);
  if (!file_) return;
  AgentRecord::Rank rank{process.pid, clock_ticks(process.there_at), {}, number, trial};
  for (const int output : {process.stdout_fd, process.stderr_fd})
    if (const std::uint64_t pipe = pipe_of(output); pipe != 0) rank.pipes.insert(pipe);
  (void)append(file_.get(), to_text(rank));
}

}  // namespace train
