// SPDX-License-Identifier: Apache-2.0
#include "backends/context/cache_tidying.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <memory>

#include "backends/context/host_cache.hpp"
#include "backends/process/own_folder.hpp"

namespace train {

namespace {

constexpr std::size_t most_names = 10'000;
constexpr std::string_view binary_prefix = "train-";

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// Names may go while the folder is read; none is looked at twice.
std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  Descriptor again(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, CloseFolder> stream(again ? ::fdopendir(again.get()) : nullptr);
  if (!stream) return names;
  (void)again.release();  // the stream's
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    if (names.size() == most_names) break;
  }
  return names;
}

// The status of something of ours that has not been touched for so long.
bool is_old(int folder, const std::string& name, std::chrono::hours age, struct stat& status) {
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
  const auto now = std::chrono::seconds(::time(nullptr));
  return status.st_uid == ::geteuid() && now - std::chrono::seconds(status.st_mtim.tv_sec) > age;
}

bool is_locked(int folder, const std::string& name) {
  const Descriptor run(
      ::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return run && ::flock(run.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

void tidy_contexts(int folder, const CacheAges& ages, const std::atomic<bool>& cancelled) {
  struct stat status {};
  for (const std::string& name : names_in(folder)) {
    if (cancelled) return;
    const bool is_incomplete = name.starts_with('.');
    if (is_old(folder, name, is_incomplete ? ages.incomplete : ages.contexts, status))
      (void)::unlinkat(folder, name.c_str(), 0);
  }
}

void tidy_runs(int folder, const CacheAges& ages, const std::atomic<bool>& cancelled) {
  struct stat status {};
  for (const std::string& name : names_in(folder)) {
    if (cancelled) return;
    const bool is_incomplete = name.starts_with('.');
    if (!is_old(folder, name, is_incomplete ? ages.incomplete : ages.runs, status)) continue;
    if (is_locked(folder, name)) continue;
    // What is removed in part only has no name that anybody would look for.
    const std::string going = is_incomplete ? name : "." + name + ".old";
    if (going != name && ::renameat(folder, name.c_str(), folder, going.c_str()) != 0) continue;
    (void)remove_tree(folder, going, cancelled);
  }
}

void tidy_binaries(int folder, const CacheAges& ages, const std::atomic<bool>& cancelled) {
  struct stat own {};
  (void)::stat("/proc/self/exe", &own);
  struct stat status {};
  for (const std::string& name : names_in(folder)) {
    if (cancelled) return;
    if (!name.starts_with(binary_prefix) || !is_old(folder, name, ages.binaries, status)) continue;
    const bool is_own = status.st_dev == own.st_dev && status.st_ino == own.st_ino;
    if (S_ISREG(status.st_mode) && !is_own) (void)::unlinkat(folder, name.c_str(), 0);
  }
}

}  // namespace

void tidy_caches(const std::vector<std::string>& places, const std::atomic<bool>& cancelled,
                 const CacheAges& ages) {
  std::vector<std::string> all = places;
  all.push_back(fmt::format("/dev/shm/train-{}", ::geteuid()));
  for (const std::string& place : all) {
    const auto cache = HostCache::open(place, HostCache::Make::nothing);
    if (!cache) continue;
    if (cache->contexts() >= 0) tidy_contexts(cache->contexts(), ages, cancelled);
    if (cache->runs() >= 0) tidy_runs(cache->runs(), ages, cancelled);
    tidy_binaries(cache->place(), ages, cancelled);
  }
}

void mark_own_binary_used() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0 || length == PATH_MAX) return;
  const std::string own(path, static_cast<std::size_t>(length));
  if (std::string_view(own).substr(own.rfind('/') + 1).starts_with(binary_prefix))
    (void)::utimensat(AT_FDCWD, own.c_str(), nullptr, 0);
}

}  // namespace train
