// SPDX-License-Identifier: Apache-2.0
#include "backends/observe/core_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "backends/posix/files.hpp"

namespace train {

namespace {

constexpr int most_entries = 100'000;

void append_literally(std::string& glob, const std::string& text) {
  for (const char c : text) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) glob += '\\';
    glob += c;
  }
}

// The name of the core file as a glob. Parts that are not known of a dead process match anything;
// the kernel writes a slash in such a part as '!'.
std::string glob_of(const std::string& pattern, const DumpedProcess& process, bool uses_pid) {
  std::string glob;
  bool has_pid = false;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '%') {
      append_literally(glob, std::string(1, pattern[at]));
      continue;
    }
    if (++at == pattern.size()) break;
    switch (pattern[at]) {
      case '%':
        glob += '%';
        break;
      case 'p':
        has_pid = true;
        glob += std::to_string(process.pid);
        break;
      case 's':
        glob += std::to_string(process.signal);
        break;
      case 'u':
        glob += std::to_string(::getuid());
        break;
      case 'g':
        glob += std::to_string(::getgid());
        break;
      case 'h':
        append_literally(glob, first_line_of("/proc/sys/kernel/hostname"));
        break;
      default:
        glob += '*';
    }
  }
  if (uses_pid && !has_pid) glob += fmt::format(".{}", process.pid);
  return glob;
}

// The newest file in this folder whose name matches.
std::optional<std::string> newest_in(const std::string& folder, const std::string& glob) {
  FolderReader reader(folder);
  std::optional<std::string> newest;
  timespec changed{};
  int looked_at = 0;
  while (const char* name = reader && ++looked_at < most_entries ? reader.next() : nullptr) {
    struct stat status {};
    if (::fnmatch(glob.c_str(), name, 0) != 0 ||
        ::fstatat(reader.descriptor(), name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode))
      continue;
    const bool is_newer =
        !newest || status.st_mtim.tv_sec > changed.tv_sec ||
        (status.st_mtim.tv_sec == changed.tv_sec && status.st_mtim.tv_nsec > changed.tv_nsec);
    if (!is_newer) continue;
    newest = name;
    changed = status.st_mtim;
  }
  return newest;
}

std::string place_in_program(const std::string& command, int pid) {
  const std::string program = command.substr(0, command.find(' '));
  if (program.ends_with("/systemd-coredump"))
    return fmt::format("systemd has it; on that host: coredumpctl info {}", pid);
  return fmt::format("the kernel gave it to '{}'", program);
}

}  // namespace

std::string place_of_core(const DumpedProcess& process, const std::string& pattern, bool uses_pid) {
  if (pattern.starts_with('|')) {
    const std::size_t begin = pattern.find_first_not_of(' ', 1);
    return place_in_program(begin == pattern.npos ? "" : pattern.substr(begin), process.pid);
  }
  if (pattern.starts_with('@')) {
    if (pattern.find("systemd-coredump") != pattern.npos)
      return place_in_program("/systemd-coredump", process.pid);
    return fmt::format("the kernel gave it to the socket '{}'",
                       pattern.substr(pattern.find_first_not_of('@')));
  }
  std::string path = pattern.empty() ? "core" : pattern;
  if (!path.starts_with('/')) path.insert(0, process.directory + "/");
  const std::size_t slash = path.rfind('/');
  std::string folder = slash == 0 ? "/" : path.substr(0, slash);
  // Patterns with '%' in the names of folders are rare; such folders are not searched.
  const std::string glob = glob_of(path.substr(slash + 1), process, uses_pid);
  if (const auto name = newest_in(folder, glob))
    return fmt::format("'{}/{}'", folder == "/" ? "" : folder, *name);
  return fmt::format("not found; core_pattern there is '{}', and it was started in '{}'", pattern,
                     process.directory);
}

std::string place_of_core(const DumpedProcess& process) {
  return place_of_core(process, first_line_of("/proc/sys/kernel/core_pattern"),
                       first_line_of("/proc/sys/kernel/core_uses_pid") != "0");
}

}  // namespace train
