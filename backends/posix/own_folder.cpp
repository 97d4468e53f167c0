// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/own_folder.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "backends/posix/files.hpp"

namespace train {

namespace {

constexpr mode_t own_only = 0700;
constexpr int deepest_folder = 512;
constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

tl::unexpected<Error> refuse(const std::string& path, const std::string& why) {
  return fail(ErrorClass::host, fmt::format("directory '{}' {}", path, why),
              fmt::format("remove '{}' on this host, or have its administrator do so", path));
}

// Explains why the folder could not be opened, with more detail than errno.
tl::unexpected<Error> explain(int parent, const std::string& name, const std::string& path,
                              int error) {
  struct stat named {};
  const bool is_there = ::fstatat(parent, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0;
  if (is_there && S_ISLNK(named.st_mode)) return refuse(path, "is a symbolic link");
  if (is_there && !S_ISDIR(named.st_mode)) return refuse(path, "is not a directory");
  if (is_there && named.st_uid != ::geteuid())
    return refuse(path, fmt::format("belongs to user {}", named.st_uid));
  return fail(ErrorClass::host,
              fmt::format("cannot open directory '{}': {}", path, system_reason(error)));
}

// Opens a folder that is to be removed. A rank may have removed its own permission to enter it.
Descriptor open_doomed(int parent, const std::string& name) {
  Descriptor folder(::openat(parent, name.c_str(), folder_flags));
  if (folder || errno != EACCES) return folder;
  const Descriptor closed(
      ::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!closed) return {};
  // fchmod does not work on an O_PATH descriptor; this path refers to exactly the opened folder.
  if (::chmod(fmt::format("/proc/self/fd/{}", closed.get()).c_str(), own_only) != 0) return {};
  return Descriptor(::openat(closed.get(), ".", folder_flags));
}

Descriptor open_below_step_by_step(int folder, std::string_view path, int flags) {
  Descriptor parent;
  for (std::size_t slash = path.find('/'); slash != path.npos; slash = path.find('/')) {
    const std::string part(path.substr(0, slash));
    parent = Descriptor(::openat(parent ? parent.get() : folder, part.c_str(),
                                 O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!parent) return {};
    path.remove_prefix(slash + 1);
  }
  return Descriptor(::openat(parent ? parent.get() : folder, std::string(path).c_str(),
                             flags | O_NOFOLLOW | O_CLOEXEC));
}

int remove_tree(int parent, const std::string& name, const std::atomic<bool>& cancelled,
                int depth) {
  if (cancelled) return ECANCELED;
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return 0;
  // For a folder unlink fails with EISDIR on Linux, EPERM in POSIX.
  if (errno != EISDIR && errno != EPERM) return errno;
  if (depth == deepest_folder) return ELOOP;
  FolderReader folder(open_doomed(parent, name));
  if (!folder) return errno;
  (void)::fchmod(folder.descriptor(), own_only);
  int first = 0;
  while (const char* inside = cancelled ? nullptr : folder.next()) {
    const int error = remove_tree(folder.descriptor(), inside, cancelled, depth + 1);
    if (first == 0) first = error;
  }
  if (cancelled) return ECANCELED;
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return 0;
  return first != 0 ? first : errno;
}

}  // namespace

Result<Descriptor> open_own_folder(int parent, const std::string& name, const std::string& path) {
  Descriptor folder(::openat(parent, name.c_str(), folder_flags));
  if (!folder) return explain(parent, name, path, errno);
  struct stat opened {};
  if (::fstat(folder.get(), &opened) != 0)
    return fail(ErrorClass::host, fmt::format("directory '{}': {}", path, system_reason(errno)));
  if (opened.st_uid != ::geteuid())
    return refuse(path, fmt::format("belongs to user {}", opened.st_uid));
  if ((opened.st_mode & 077) != 0)
    return refuse(path, fmt::format("is open to other users (mode {:04o}, not 0700)",
                                    opened.st_mode & 07777));
  return above_standard(std::move(folder));
}

Result<Descriptor> make_own_folder(int parent, const std::string& name, const std::string& path) {
  if (::mkdirat(parent, name.c_str(), own_only) != 0 && errno != EEXIST)
    return fail(ErrorClass::host,
                fmt::format("cannot make directory '{}': {}", path, system_reason(errno)),
                "train needs a writable /tmp on every host");
  return open_own_folder(parent, name, path);
}

Descriptor open_below(int folder, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_NOFOLLOW | O_CLOEXEC);
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;
  const long opened = ::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
  if (opened >= 0) return Descriptor(static_cast<int>(opened));
  // Kernels before 5.6 do not have openat2, and seccomp filters of containers may forbid it.
  if (errno != ENOSYS && errno != EPERM && errno != EAGAIN) return {};
  return open_below_step_by_step(folder, path, flags);
}

int remove_tree(int folder, const std::string& name, const std::atomic<bool>& cancelled) {
  return remove_tree(folder, name, cancelled, 0);
}

}  // namespace train
