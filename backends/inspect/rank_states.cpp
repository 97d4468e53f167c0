// SPDX-License-Identifier: Apache-2.0
#include "backends/inspect/rank_states.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

constexpr std::size_t most_levels = 16;  // of processes that wait for each other
constexpr int poll_milliseconds = 20;
// A dump is written in many small pieces, without a mark at its end.
constexpr std::chrono::milliseconds quiet_after_dump{100};
// Threads are printed from the newest to the oldest, so the main thread may come late.
constexpr std::uint64_t longest_dump = 512u << 10;

std::string proc_path(int pid, std::string_view file) {
  return "/proc/" + std::to_string(pid) + "/" + std::string(file);
}

std::string wait_channel(int pid) {
  const std::string function = first_line_of(proc_path(pid, "wchan"));
  return function == "0" ? "" : escaped(function);  // "0": it runs, or this may not be seen
}

bool waits_for_child(int pid) {
  const std::string function = wait_channel(pid);
  if (!function.empty()) return function.starts_with("do_wait");
  const std::string call = first_line_of(proc_path(pid, "syscall"));  // "61 0xffffffff ..."
  int number = -1;
  (void)std::from_chars(call.data(), call.data() + call.size(), number);
  return number == SYS_wait4 || number == SYS_waitid;
}

std::optional<int> oldest_child(int pid) {
  std::optional<int> oldest;
  std::uint64_t oldest_start = 0;
  for (const int child : children_of(pid)) {
    const auto status = status_of(child);
    if (!status || status->has_ended() || (oldest && status->start >= oldest_start)) continue;
    oldest = child;
    oldest_start = status->start;
  }
  return oldest;
}

/// From the process of a rank to the one that does not wait for a child.
std::vector<int> line_of_waiting(int pid) {
  std::vector<int> line{pid};
  while (line.size() <= most_levels && waits_for_child(line.back())) {
    const auto child = oldest_child(line.back());
    if (!child) break;
    line.push_back(*child);
  }
  return line;
}

// Takes "futex_wait_queue" from "[<0>] futex_wait_queue+0x60/0x90". Older kernels end with an
// address instead of a function.
std::string functions_of_stack(std::string_view stack) {
  std::string functions;
  for (const std::string_view line : split(stack, '\n')) {
    const std::size_t blank = line.find(' ');
    if (blank == line.npos) continue;
    std::string_view function = line.substr(blank + 1);
    function = function.substr(0, function.find('+'));
    if (function.empty() || function.starts_with("0x")) continue;
    if (functions.size() + 1 + function.size() > longest_kernel_stack) break;
    if (!functions.empty()) functions += '\n';
    functions += escaped(function);
  }
  return functions;
}

struct Described {
  RankState state;
  std::uint64_t start = 0;  ///< of the process
  std::vector<int> line;    ///< of waiting processes; its last is the described one
};

Described described(int rank, int process) {
  Described found;
  found.state.rank = rank;
  found.line = line_of_waiting(process);
  // A child may have ended since: then its parent is described.
  std::optional<ProcessStatus> status;
  while (!found.line.empty() && !(status = status_of(found.line.back()))) found.line.pop_back();
  if (!status || status->state == 'X') return found;
  const int pid = found.line.back();
  found.start = status->start;
  found.state.pid = pid;
  const std::string name = name_of(pid);  // "[python3]"
  if (name.size() > 2) found.state.command = name.substr(1, name.size() - 2);
  found.state.state = status->state;
  found.state.waits_in = wait_channel(pid);
  found.state.threads = static_cast<int>(names_in(FolderReader(proc_path(pid, "task"))).size());
  found.state.kernel_stack = functions_of_stack(read_small_file(proc_path(pid, "stack")));
  return found;
}

bool catches(int pid, int signal) {
  constexpr std::string_view caught = "SigCgt:";
  const std::string text = read_small_file(proc_path(pid, "status"));
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(caught)) continue;
    const std::string_view digits = trim(line.substr(caught.size()));
    std::uint64_t signals = 0;
    (void)std::from_chars(digits.data(), digits.data() + digits.size(), signals, 16);
    return ((signals >> (signal - 1)) & 1) != 0;
  }
  return false;
}

bool has_open_as(int pid, int descriptor, std::string_view path) {
  std::array<char, PATH_MAX> target;
  const std::string link = proc_path(pid, "fd/" + std::to_string(descriptor));
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  return size > 0 && path == std::string_view(target.data(), static_cast<std::size_t>(size));
}

// The path of DIRECTORY/stacks.PID.FD, which the process has open as FD; empty: none. A process
// that was forked has its parent's file. Of several files the last made counts: where the module
// was imported once more, it has a higher descriptor.
std::string stacks_file_of(const Described& process, const std::string& directory) {
  const std::string front = directory + "/stacks.";
  const int pid = process.line.back();
  int last = -1;
  std::string path;
  (void)has_open(pid, [&](std::string_view target) {
    if (!target.starts_with(front)) return false;
    const auto parts = split(target.substr(front.size()), '.');
    if (parts.size() != 2) return false;
    const auto owner = whole_number(parts[0], 1, INT_MAX);
    const auto descriptor = whole_number(parts[1], 0, INT_MAX);
    if (!owner || !descriptor || *descriptor <= last) return false;
    const bool is_its_own =
        std::find(process.line.begin(), process.line.end(), *owner) != process.line.end();
    if (!is_its_own || !has_open_as(pid, *descriptor, target)) return false;
    last = *descriptor;
    path = target;
    return false;  // look at all
  });
  return path;
}

/// A Python process that was sent the signal.
struct Asked {
  std::size_t index;  ///< of its rank
  Descriptor file;
  std::uint64_t old_size;
  std::uint64_t size;
  Instant changed;

  bool has_answered(Instant now) const {
    return size > old_size && now - changed >= quiet_after_dump;
  }
};

std::optional<std::uint64_t> size_of_regular(const Descriptor& file) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

// The signal ends a process that does not catch it. So everything is checked after the pidfd was
// opened: it refers to the process that was described, whatever becomes of the pid.
std::optional<Asked> ask(const Described& process, std::size_t index,
                         const std::string& directory) {
  if (process.state.pid == 0) return std::nullopt;
  const int pid = process.line.back();
  const Descriptor pidfd = open_process(pid);
  const auto status = status_of(pid);
  if (!pidfd || !status || status->start != process.start) return std::nullopt;
  // While it is stopped, the signal would stay pending; a traced one would stop at it.
  if (status->has_ended() || status->state == 'T' || status->state == 't') return std::nullopt;
  const std::string path = stacks_file_of(process, directory);
  if (path.empty()) return std::nullopt;
  Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  const auto size = file ? size_of_regular(file) : std::nullopt;
  if (!size || !catches(pid, stacks_signal)) return std::nullopt;
  if (send_signal(pidfd, stacks_signal) != 0) return std::nullopt;
  return Asked{index, std::move(file), *size, *size, boot_time()};
}

void await_answers(std::vector<Asked>& asked, std::chrono::milliseconds patience) {
  const Instant end = boot_time() + patience;
  for (Instant now = boot_time(); now < end; now = boot_time()) {
    bool have_all_answered = true;
    for (Asked& each : asked) {
      const std::uint64_t size = size_of_regular(each.file).value_or(each.size);
      if (std::exchange(each.size, size) != size) each.changed = now;
      have_all_answered = have_all_answered && each.has_answered(now);
    }
    if (have_all_answered) return;
    (void)::poll(nullptr, 0, poll_milliseconds);
  }
}

// Puts the thread that took the signal (the main thread, if it could) first, and cuts the rest at
// the end of a line. A blank line is between threads.
std::string current_thread_first(std::string_view dump) {
  constexpr std::string_view current = "Current thread ";
  constexpr std::string_view gap = "\n\n";
  std::string text(dump);
  if (const std::size_t before = dump.find(std::string(gap) + std::string(current));
      before != dump.npos) {
    const std::size_t begin = before + gap.size();
    const std::size_t end = dump.find(gap, begin);
    const bool is_last = end == dump.npos;
    text = dump.substr(begin, is_last ? dump.npos : end + 1 - begin);
    text += '\n';
    text += dump.substr(0, before + 1);
    if (!is_last) text += dump.substr(end + 1);
  }
  if (text.size() <= longest_python_stack) return text;
  const std::size_t line_end = text.rfind('\n', longest_python_stack - 1);
  text.resize(line_end == text.npos ? longest_python_stack : line_end + 1);
  return text;
}

std::string answer_of(const Asked& asked) {
  if (asked.size <= asked.old_size) return "";
  std::string dump(std::min(asked.size - asked.old_size, longest_dump), '\0');
  const ssize_t size = read_whole_at(asked.file.get(), dump.data(), dump.size(), asked.old_size);
  dump.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  std::erase_if(dump, [](unsigned char byte) {
    return (byte < ' ' && byte != '\n' && byte != '\t') || byte == '\x7f';
  });
  return current_thread_first(dump);
}

// The path without symbolic links, as /proc/PID/fd shows it; empty: there is no such folder.
std::string real_path(const std::string& path) {
  std::array<char, PATH_MAX> resolved;
  return !path.empty() && ::realpath(path.c_str(), resolved.data()) != nullptr ? resolved.data()
                                                                               : "";
}

}  // namespace

std::vector<RankState> rank_states(const std::map<int, int>& process_of_rank,
                                   const std::string& stacks_directory,
                                   std::chrono::milliseconds patience) {
  std::vector<Described> all;
  all.reserve(process_of_rank.size());
  for (const auto& [rank, pid] : process_of_rank) all.push_back(described(rank, pid));
  std::vector<Asked> asked;
  const std::string directory = real_path(stacks_directory);
  for (std::size_t index = 0; index < all.size() && !directory.empty(); ++index)
    if (auto question = ask(all[index], index, directory)) asked.push_back(std::move(*question));
  await_answers(asked, patience);
  for (const Asked& each : asked) all[each.index].state.python = answer_of(each);
  std::vector<RankState> states;
  states.reserve(all.size());
  for (Described& each : all) states.push_back(std::move(each.state));
  return states;
}

}  // namespace train
