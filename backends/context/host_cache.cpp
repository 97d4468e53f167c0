// SPDX-License-Identifier: Apache-2.0
#include "backends/context/host_cache.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "backends/context/context_files.hpp"
#include "backends/context/context_unpacker.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/own_folder.hpp"
#include "backends/posix/random.hpp"

namespace train {

namespace {

constexpr mode_t own_only = 0700;

tl::unexpected<Error> refuse(const std::string& path, const std::string& why) {
  return fail(ErrorClass::host, fmt::format("'{}': {}", path, why));
}

// Opens or creates a folder that must be private to this user and not a link: in /tmp, another user
// may have created it first.
Result<Descriptor> open_own(int parent, const std::string& name, const std::string& path,
                            HostCache::Make make) {
  if (make == HostCache::Make::missing && ::mkdirat(parent, name.c_str(), own_only) != 0 &&
      errno != EEXIST)
    return refuse(path, system_reason(errno));
  Descriptor folder(
      ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder && (errno == ELOOP || errno == ENOTDIR)) return refuse(path, "it is no folder");
  if (!folder) return refuse(path, system_reason(errno));
  struct stat status {};
  if (::fstat(folder.get(), &status) != 0) return refuse(path, system_reason(errno));
  if (status.st_uid != ::geteuid())
    return refuse(path, fmt::format("it belongs to user {}", status.st_uid));
  if ((status.st_mode & 077) != 0 && ::fchmod(folder.get(), own_only) != 0)
    return refuse(path, "it is open to other users");
  return folder;
}

// Creates missing parent folders; existing ones keep their mode.
void make_parents(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != path.npos; slash = path.find('/', slash + 1))
    (void)::mkdir(path.substr(0, slash).c_str(), own_only);
}

std::string temporary_name(const std::string& name) {
  return fmt::format(".{}.{:016x}", name, random_bits());
}

std::string file_name(const Context& context) { return context.sha256 + ".tar.gz"; }

}  // namespace

std::vector<std::string> cache_places(const std::string& home) {
  std::vector<std::string> places;
  if (home.starts_with('/')) places.push_back(home + "/.cache/train");
  for (const char* folder : {"/var/tmp", "/tmp"})
    places.push_back(fmt::format("{}/train-{}", folder, ::geteuid()));
  return places;
}

std::optional<HostCache::Copy> find_copy(const std::vector<std::string>& places,
                                         const std::string& key) {
  for (const std::string& place : places) {
    const auto cache = HostCache::open(place, HostCache::Make::nothing);
    if (!cache || cache->runs() < 0) continue;
    if (auto copy = cache->existing_copy(key)) return copy;
  }
  return std::nullopt;
}

Result<HostCache> HostCache::open(const std::string& path, Make make) {
  HostCache cache;
  cache.path_ = path;
  if (make == Make::missing) make_parents(path);
  auto place = open_own(AT_FDCWD, path, path, make);
  if (!place) return tl::make_unexpected(place.error());
  auto contexts = open_own(place->get(), "contexts", path + "/contexts", make);
  if (!contexts && make == Make::missing) return tl::make_unexpected(contexts.error());
  auto runs = open_own(place->get(), "runs", path + "/runs", make);
  if (!runs && make == Make::missing) return tl::make_unexpected(runs.error());
  cache.place_ = std::move(*place);
  if (contexts) cache.contexts_ = std::move(*contexts);
  if (runs) cache.runs_ = std::move(*runs);
  return cache;
}

Descriptor HostCache::find(const Context& context) const {
  Descriptor file(::openat(contexts(), file_name(context).c_str(),
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return {};
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) return {};
  (void)::futimens(file.get(), nullptr);  // age counts from the last use
  return file;
}

Result<HostCache::Incoming> HostCache::begin(const Context& context) const {
  struct statvfs space {};
  // Space for the packed file, which is hardly larger than the archive, and for the copy.
  const std::uint64_t needed = 2 * context.size + (1u << 20);
  if (::fstatvfs(contexts(), &space) == 0 && space.f_blocks > 0 &&
      static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize < needed)
    return refuse(path_, fmt::format("it has less than {} left", size_text(needed)));
  Incoming incoming;
  incoming.name = temporary_name(context.sha256);
  incoming.file = Descriptor(::openat(contexts(), incoming.name.c_str(),
                                      O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!incoming.file) return refuse(path_, system_reason(errno));
  return incoming;
}

Result<void> HostCache::write(const Incoming& incoming, std::string_view bytes) const {
  if (const int error = write_whole(incoming.file.get(), bytes); error != 0)
    return refuse(path_, system_reason(error));
  return {};
}

Result<void> HostCache::fill(const Incoming& incoming, int from, std::uint64_t bytes,
                             const std::atomic<bool>& cancelled) const {
  std::array<char, 64u << 10> buffer;
  for (std::uint64_t done = 0; done < bytes;) {
    if (cancelled) return refuse(path_, "the context is not needed any more");
    const ssize_t count =
        read_whole_at(from, buffer.data(), std::min(buffer.size(), bytes - done), done);
    // No other process writes this file, so a file that is shorter than expected is an error.
    if (count <= 0) return refuse(path_, count < 0 ? system_reason(errno) : "it was cut off");
    if (auto written = write(incoming, {buffer.data(), static_cast<std::size_t>(count)}); !written)
      return written;
    done += static_cast<std::uint64_t>(count);
  }
  return {};
}

void HostCache::commit(const Incoming& incoming, const Context& context) const {
  (void)::fchmod(incoming.file.get(), 0400);
  if (::renameat(contexts(), incoming.name.c_str(), contexts(), file_name(context).c_str()) != 0)
    forget(incoming);  // the next task receives it again
}

void HostCache::forget(const Incoming& incoming) const {
  (void)::unlinkat(contexts(), incoming.name.c_str(), 0);
}

void HostCache::remove(const Context& context) const {
  (void)::unlinkat(contexts(), file_name(context).c_str(), 0);
}

Result<std::optional<HostCache::Copy>> HostCache::copy(int packed_file, const Context& context,
                                                       const std::string& key,
                                                       const std::atomic<bool>& cancelled) const {
  const std::string name = temporary_name(key);
  const std::string path = fmt::format("{}/runs/{}", path_, key);
  const std::atomic<bool> to_the_end{false};
  if (::lseek(packed_file, 0, SEEK_SET) != 0) return refuse(path, system_reason(errno));
  if (::mkdirat(runs(), name.c_str(), own_only) != 0) return refuse(path, system_reason(errno));
  Descriptor folder(
      ::openat(runs(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  Result<bool> unpacked = folder
                              ? unpack_context(packed_file, context, folder.get(), path, cancelled)
                              : Result<bool>(refuse(path, system_reason(errno)));
  if (unpacked && *unpacked && ::renameat(runs(), name.c_str(), runs(), key.c_str()) != 0) {
    remove_copy(key);  // something else has the name of the copy
    if (::renameat(runs(), name.c_str(), runs(), key.c_str()) != 0)
      unpacked = refuse(path, system_reason(errno));
  }
  if (!unpacked || !*unpacked) (void)remove_tree(runs(), name, to_the_end);
  if (!unpacked) return tl::make_unexpected(unpacked.error());
  if (!*unpacked) return std::nullopt;
  // On a file system without locks, only its age protects a copy from removal.
  (void)::flock(folder.get(), LOCK_SH | LOCK_NB);
  return Copy{path, std::move(folder)};
}

// A copy gets its name when it is complete, and loses it before it is removed.
std::optional<HostCache::Copy> HostCache::existing_copy(const std::string& key) const {
  Descriptor folder(::openat(runs(), key.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!folder || ::fstat(folder.get(), &status) != 0 || status.st_uid != ::geteuid())
    return std::nullopt;
  // Locked by a process that removes old copies: it is about to lose its name.
  if (::flock(folder.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) return std::nullopt;
  // It may have lost its name before it was locked.
  struct stat named {};
  if (::fstatat(runs(), key.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 ||
      named.st_dev != status.st_dev || named.st_ino != status.st_ino)
    return std::nullopt;
  return Copy{fmt::format("{}/runs/{}", path_, key), std::move(folder)};
}

std::optional<HostCache::Copy> HostCache::adopt(const std::string& key) const {
  auto copy = existing_copy(key);
  if (copy) (void)::futimens(copy->folder.get(), nullptr);  // age counts from the last use
  return copy;
}

void HostCache::remove_copy(const std::string& key) const {
  const std::atomic<bool> to_the_end{false};
  const std::string going = temporary_name(key);
  if (::renameat(runs(), key.c_str(), runs(), going.c_str()) == 0)
    (void)remove_tree(runs(), going, to_the_end);
}

}  // namespace train
