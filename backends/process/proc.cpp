// SPDX-License-Identifier: Apache-2.0
#include "backends/process/proc.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>

namespace train {

namespace {

constexpr size_t environment_limit = size_t{4} << 20;
constexpr size_t command_limit = 200;
constexpr size_t children_limit = size_t{8} << 20;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

std::vector<int> numbered_entries(const std::string& path) {
  std::vector<int> result;
  const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(path.c_str()));
  if (!directory) return result;
  while (const dirent* entry = ::readdir(directory.get()))
    if (const auto value = number(entry->d_name)) result.push_back(*value);
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

// Kernels may be built without CONFIG_PROC_CHILDREN.
bool lists_children() {
  static const bool does = ::access("/proc/thread-self/children", F_OK) == 0;
  return does;
}

}  // namespace

std::string read_small_file(const std::string& path, size_t limit) {
  constexpr size_t step = 4096;
  std::string text;
  // Ranks write some of these files: one may be a pipe, or a terminal.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  while (file && text.size() < limit) {
    const size_t old_size = text.size();
    const size_t wanted = std::min(std::max(step, old_size), limit - old_size);
    text.resize(old_size + wanted);
    const ssize_t count = ::read(file.get(), text.data() + old_size, wanted);
    if (count < 0 && errno == EINTR) {
      text.resize(old_size);
      continue;
    }
    text.resize(old_size + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count <= 0) break;
  }
  return text;
}

std::vector<int> children_of(int pid) {
  std::vector<int> children;
  if (!lists_children()) {
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

std::optional<int> parent_of(int pid) {
  // "PID (NAME) STATE PPID ...": the name may hold anything, so the fields count from its end.
  const std::string text = read_small_file(path_of(pid, "stat"));
  const size_t name_end = text.rfind(')');
  if (name_end == text.npos || name_end + 4 >= text.size()) return std::nullopt;
  const std::string_view fields = std::string_view(text).substr(name_end + 4);
  int parent = 0;
  const auto result = std::from_chars(fields.data(), fields.data() + fields.size(), parent);
  if (result.ec != std::errc{}) return std::nullopt;
  return parent;
}

std::optional<unsigned> owner_of(int pid) {
  struct stat status {};
  if (::stat(path_of(pid, "").c_str(), &status) != 0) return std::nullopt;
  return status.st_uid;
}

std::string command_of(int pid) {
  std::string command = read_small_file(path_of(pid, "cmdline"), command_limit);
  while (!command.empty() && command.back() == '\0') command.pop_back();
  for (char& byte : command)
    if (static_cast<unsigned char>(byte) < ' ' || byte == '\x7f') byte = ' ';
  if (!command.empty()) return command;
  std::string name = read_small_file(path_of(pid, "comm"));
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name.empty() ? name : "[" + name + "]";
}

std::string environment_of(int pid) {
  return read_small_file(path_of(pid, "environ"), environment_limit);
}

Descriptor open_process(int pid) {
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

int send_signal(const Descriptor& process, int signal) {
  if (::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0) return 0;
  return errno;
}

}  // namespace train
