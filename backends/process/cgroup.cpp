// SPDX-License-Identifier: Apache-2.0
#include "backends/process/cgroup.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/login_session.hpp"
#include "backends/posix/proc.hpp"

namespace train {

namespace {

// The mount points of cgroup version 2: alone, or beside version 1.
constexpr const char* mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
constexpr std::string_view name_start = "train-";
constexpr size_t list_limit = size_t{8} << 20;
constexpr int most_entries = 4096;  // of folders that other programs use as well
constexpr int poll_milliseconds = 2;

bool is_cgroup2(const std::string& path) {
  struct statfs status {};
  return ::statfs(path.c_str(), &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC;
}

std::string parent_of_path(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 || slash == path.npos ? "/" : path.substr(0, slash);
}

std::string joined(const std::string& directory, const std::string& name) {
  return directory.ends_with('/') ? directory + name : directory + "/" + name;
}

std::string manager_of(unsigned user) {
  return fmt::format("/user.slice/user-{0}.slice/user@{0}.service", user);
}

bool is_within(const std::string& path, const std::string& ancestor) {
  return path == ancestor || path.starts_with(joined(ancestor, ""));
}

// The cgroup of version 2.
std::string own_cgroup() {
  const std::string text = read_small_file("/proc/self/cgroup");
  for (const auto& [hierarchy, path] : cgroups_in(text))
    if (hierarchy.empty() && path.starts_with('/')) return std::string(path);
  return {};
}

bool has_attribute(const std::string& path, const char* name) {
  char value = 0;
  return ::getxattr(path.c_str(), name, &value, 1) == 1 && value == '1';
}

std::vector<int> listed_in(const std::string& directory) {
  const std::string text = read_small_file(directory + "/cgroup.procs", list_limit);
  std::vector<int> pids;
  for (const char* at = text.data(); at < text.data() + text.size(); ++at) {
    int pid = 0;
    const auto read = std::from_chars(at, text.data() + text.size(), pid);
    if (read.ec == std::errc{} && pid > 0) pids.push_back(pid);
    at = std::max(at, read.ptr);
  }
  return pids;
}

// Whether `directory` really is the cgroup of this process: in a container the mount may show other
// cgroups than /proc/self/cgroup names.
bool contains_this_process(const std::string& directory) {
  const std::vector<int> pids = listed_in(directory);
  return std::find(pids.begin(), pids.end(), ::getpid()) != pids.end();
}

// Moving a process needs write permission for cgroup.procs of the innermost cgroup that contains
// both `from` and `to`.
bool may_move(const std::string& mount, const std::string& from, const std::string& to) {
  std::string common = from;
  while (!is_within(to, common)) common = parent_of_path(common);
  return ::access((joined(mount + common, "cgroup.procs")).c_str(), W_OK) == 0;
}

std::vector<std::string> with_all_below(const std::string& path) {
  std::vector<std::string> paths = {path};
  for (size_t i = 0; i < paths.size() && paths.size() < most_entries; ++i) {
    FolderReader folder(paths[i]);
    struct stat status {};
    while (const char* name = folder ? folder.next() : nullptr)
      if (::fstatat(folder.descriptor(), name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
          S_ISDIR(status.st_mode))
        paths.push_back(joined(paths[i], name));
  }
  return paths;
}

bool write_word(const std::string& path, std::string_view word) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  return file && ::write(file.get(), word.data(), word.size()) == static_cast<ssize_t>(word.size());
}

// Removes cgroups that dead agents have left. The kernel refuses to remove one with processes in
// it; an empty one is kept while its agent lives, which is about to use it.
void remove_empty_ones(const std::string& parent) {
  FolderReader folder(parent);
  int looked_at = 0;
  while (const char* entry = folder && ++looked_at < most_entries ? folder.next() : nullptr) {
    const std::string name = entry;
    const size_t dash = name.rfind('-');
    int agent = 0;
    if (!name.starts_with(name_start)) continue;
    const auto read = std::from_chars(name.data() + dash + 1, name.data() + name.size(), agent);
    if (read.ec != std::errc{} || read.ptr != name.data() + name.size()) continue;
    const std::string path = joined(parent, name);
    if (agent > 0 && !status_of(agent) && is_cgroup_of(path, name)) (void)::rmdir(path.c_str());
  }
}

}  // namespace

std::optional<std::string> place_for_cgroup(const CgroupSurroundings& surroundings) {
  const std::string& own = surroundings.own;
  if (!own.starts_with('/') || (own + "/").find("/../") != own.npos) return std::nullopt;
  if (!surroundings.has_systemd) return own;
  const std::string manager = manager_of(surroundings.user);
  if (is_within(own, manager)) return manager;
  for (std::string path = own; path != "/"; path = parent_of_path(path))
    if (surroundings.is_delegated && surroundings.is_delegated(path)) return own;
  if (surroundings.lingers) return manager;
  return std::nullopt;
}

std::string cgroup_name(const std::string& key, int agent) {
  return fmt::format("{}{}-{}", name_start, key, agent);
}

std::optional<std::string> path_for_cgroup(const std::string& name) {
  const std::string own = own_cgroup();
  for (const std::string mount : mounts) {
    if (own.empty() || !is_cgroup2(mount) || !contains_this_process(mount + own)) continue;
    CgroupSurroundings surroundings{own, ::access("/run/systemd/system", F_OK) == 0, ::geteuid(),
                                    lingers("/", login_name())};
    surroundings.is_delegated = [&](const std::string& path) {
      return has_attribute(mount + path, "trusted.delegate") ||
             has_attribute(mount + path, "user.delegate");
    };
    const auto place = place_for_cgroup(surroundings);
    if (place && is_cgroup2(mount + *place) && may_move(mount, own, *place))
      return joined(mount + *place, name);
  }
  return std::nullopt;
}

int make_cgroup(const std::string& path) {
  remove_empty_ones(parent_of_path(path));
  if (::mkdir(path.c_str(), 0755) != 0) return -1;
  auto directory =
      above_standard(Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  return directory ? directory->release() : -1;
}

std::string path_of_cgroup(const Descriptor& directory) {
  if (!directory) return {};
  char path[4096];
  const std::string link = fmt::format("/proc/self/fd/{}", directory.get());
  const ssize_t size = ::readlink(link.c_str(), path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : std::string();
}

void remove_cgroups_below(const std::string& path, const std::set<std::string>& but) {
  FolderReader folder(path);
  struct stat status {};
  while (const char* name = folder ? folder.next() : nullptr)
    if (!but.contains(name) &&
        ::fstatat(folder.descriptor(), name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(status.st_mode))
      (void)::unlinkat(folder.descriptor(), name, AT_REMOVEDIR);
}

bool is_cgroup_of(const std::string& path, const std::string& name) {
  const bool is_below = std::any_of(
      std::begin(mounts), std::end(mounts),
      [&](const std::string& mount) { return path.starts_with(mount + "/") && is_cgroup2(mount); });
  if (!is_below || path.find("/../") != path.npos || !path.ends_with("/" + name)) return false;
  struct stat status {};
  return name.starts_with(name_start) && ::lstat(path.c_str(), &status) == 0 &&
         S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && is_cgroup2(path);
}

std::vector<int> processes_in_cgroup(const std::string& path) {
  std::vector<int> pids;
  for (const std::string& directory : with_all_below(path)) {
    const std::vector<int> here = listed_in(directory);
    pids.insert(pids.end(), here.begin(), here.end());
  }
  return pids;
}

void kill_cgroup(const std::string& path) {
  if (write_word(path + "/cgroup.kill", "1")) return;
  // For kernels before 5.14, which have no cgroup.kill: while the cgroup is frozen, none of its
  // processes forks and they can be killed one by one. SIGKILL ends frozen processes as well.
  (void)write_word(path + "/cgroup.freeze", "1");
  for (const int pid : processes_in_cgroup(path)) {
    const Descriptor process = open_process(pid);
    const std::vector<int> still = processes_in_cgroup(path);
    if (process && std::find(still.begin(), still.end(), pid) != still.end())
      (void)send_signal(process, SIGKILL);
  }
  (void)write_word(path + "/cgroup.freeze", "0");
}

bool remove_cgroup(const std::string& path, nanoseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    std::vector<std::string> paths = with_all_below(path);
    for (auto below = paths.rbegin(); below != paths.rend(); ++below) (void)::rmdir(below->c_str());
    if (::access(path.c_str(), F_OK) != 0) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    (void)::poll(nullptr, 0, poll_milliseconds);
  }
}

}  // namespace train
