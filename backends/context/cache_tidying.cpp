// SPDX-License-Identifier: Apache-2.0
#include "backends/context/cache_tidying.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "backends/context/host_cache.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/own_folder.hpp"

namespace train {

namespace {

constexpr std::size_t most_names = 10'000;
constexpr std::string_view old_ending = "old";

// Reads all names at once, since entries are removed later.
std::vector<std::string> names_of(int folder) { return names_in(FolderReader(folder), most_names); }

// Whether this file belongs to this user and was not touched for `age`; sets `status`.
bool is_old(int folder, const std::string& name, std::chrono::hours age, struct stat& status) {
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
  const auto now = std::chrono::seconds(::time(nullptr));
  return status.st_uid == ::geteuid() && now - std::chrono::seconds(status.st_mtim.tv_sec) > age;
}

// The folder, locked, so that no agent adopts it meanwhile. Nothing where an agent has it, or where
// it cannot be opened. On a file system without locks, only its age protects it.
Descriptor lock_unused(int folder, const std::string& name) {
  Descriptor run(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const bool is_used = run && ::flock(run.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  return is_used ? Descriptor() : std::move(run);
}

// --- Names that train gives; other files in a cache belong to the user ---

constexpr std::size_t binary_digits = 40;
constexpr std::size_t random_digits = 16;

bool is_hexadecimal(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

// The agent's key "<task>-<node rank>" (task_record.hpp).
bool is_key(std::string_view text) {
  constexpr std::size_t task_letters = 8;
  constexpr std::size_t most_digits = 7;
  const std::size_t dash = text.find('-');
  if (dash != task_letters) return false;
  const std::string_view rank = text.substr(dash + 1);
  return text.substr(0, dash).find_first_not_of("abcdefghijklmnopqrstuvwxyz234567") == text.npos &&
         !rank.empty() && rank.size() <= most_digits &&
         rank.find_first_not_of("0123456789") == rank.npos;
}

bool is_binary(std::string_view name) {
  constexpr std::string_view prefix = "train-";
  return name.starts_with(prefix) && is_hexadecimal(name.substr(prefix.size()), binary_digits);
}

bool is_packed_context(std::string_view name) {
  constexpr std::string_view ending = ".tar.gz";
  return name.ends_with(ending) && is_hexadecimal(name.substr(0, name.size() - ending.size()), 64);
}

// The name of something incomplete (HostCache), or of something that is being removed:
// ".NAME.ENDING".
bool is_incomplete(std::string_view name, bool (*is_name)(std::string_view)) {
  const std::size_t dot = name.rfind('.');
  if (!name.starts_with('.') || dot == 0) return false;
  const std::string_view ending = name.substr(dot + 1);
  return is_name(name.substr(1, dot - 1)) &&
         (ending == old_ending || is_hexadecimal(ending, random_digits));
}

bool is_digest(std::string_view text) { return is_hexadecimal(text, 64); }

// --- Removal of old files ---

void tidy_contexts(int folder, const CacheAges& ages, const std::atomic<bool>& cancelled) {
  struct stat status {};
  for (const std::string& name : names_of(folder)) {
    if (cancelled) return;
    const bool is_coming = is_incomplete(name, is_digest);
    if (!is_coming && !is_packed_context(name)) continue;
    if (is_old(folder, name, is_coming ? ages.incomplete : ages.contexts, status) &&
        S_ISREG(status.st_mode))
      (void)::unlinkat(folder, name.c_str(), 0);
  }
}

void tidy_runs(int folder, const CacheAges& ages, const std::atomic<bool>& cancelled) {
  struct stat status {};
  for (const std::string& name : names_of(folder)) {
    if (cancelled) return;
    const bool is_part = is_incomplete(name, is_key);
    if (!is_part && !is_key(name)) continue;
    if (!is_old(folder, name, is_part ? ages.incomplete : ages.runs, status)) continue;
    if (!S_ISDIR(status.st_mode)) continue;
    const Descriptor locked = lock_unused(folder, name);
    if (!locked) continue;
    // Renamed first: a partly removed copy must not have the name under which it is looked up.
    const std::string going = is_part ? name : fmt::format(".{}.{}", name, old_ending);
    if (going != name && ::renameat(folder, name.c_str(), folder, going.c_str()) != 0) continue;
    (void)remove_tree(folder, going, cancelled);
  }
}

void tidy_binaries(int folder, const CacheAges& ages, const std::atomic<bool>& cancelled) {
  struct stat own {};
  (void)::stat("/proc/self/exe", &own);
  struct stat status {};
  for (const std::string& name : names_of(folder)) {
    if (cancelled) return;
    if (!is_binary(name) || !is_old(folder, name, ages.binaries, status)) continue;
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
  const std::string_view own(path, static_cast<std::size_t>(length));
  if (!is_binary(own.substr(own.rfind('/') + 1))) return;
  // Opens the running program, even when its name belongs to another file by now.
  const Descriptor file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  if (file) (void)::futimens(file.get(), nullptr);
}

}  // namespace train
