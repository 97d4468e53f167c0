// SPDX-License-Identifier: Apache-2.0
#include "backends/lease/lease_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "backends/lease/lease_holders.hpp"
#include "backends/posix/file_system.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"

namespace train {

namespace {

constexpr mode_t shared_like_tmp = S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO;

// Opens the place if it is valid for all users; the result must not depend on the user who asks. In
// a parent where other users may write, they can make a link under its name and change its target:
// links are followed only where root alone can make them.
Descriptor found_at(const LeasePlace& place) {
  const bool is_in_shared_folder = place.is_own && !place.is_named;
  const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC | (is_in_shared_folder ? O_NOFOLLOW : 0);
  Descriptor folder(::open(place.path.c_str(), flags));
  struct stat status {};
  if (!folder || place.is_named) return folder;
  if (::fstat(folder.get(), &status) != 0) return {};
  const bool is_for_all = (status.st_mode & shared_like_tmp) == shared_like_tmp;
  if (status.st_uid == 0 && (place.is_own || is_for_all)) return folder;
  errno = ENOENT;
  return {};
}

bool is_absent(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES;
}

auto refused(const LeasePlace& place, const std::string& why, const char* hint) {
  return fail(ErrorClass::host,
              fmt::format("its slots are held in '{}', which {}", place.path, why), hint);
}

constexpr const char* ask_for_group =
    "ask who administers the host for its group, or hold nothing: --set leases=none";

// Opens the folder for reading. If the result has no descriptor, errno says why.
LeaseFolder folder_at(const LeasePlace& place, const Descriptor& found) {
  LeaseFolder folder;
  folder.folder = Descriptor(::openat(found.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!folder.folder) return folder;
  if (::fstat(folder.folder.get(), &status) != 0) {
    folder.folder.reset();
    return folder;
  }
  folder.path = place.path;
  folder.prefix = place.is_own ? "" : "train-lease-";
  folder.is_tidied = place.is_tidied;
  folder.identity = fmt::format("{}:{}:{}", boot_id(), status.st_dev, status.st_ino);
  return folder;
}

Result<LeaseFolder> opened(const LeasePlace& place, const Descriptor& found,
                           FileSystemKind kind_of) {
  LeaseFolder folder = folder_at(place, found);
  if (!folder.folder)
    return refused(place, "cannot be opened: " + system_reason(errno),
                   "ask who administers the host");
  if (::faccessat(folder.folder.get(), ".", W_OK | X_OK, AT_EACCESS) != 0)
    return refused(place, "this user may not write to: " + system_reason(errno), ask_for_group);
  if (is_shared_by_machines(kind_of(folder.folder.get())))
    return refused(place, "is on a file system over a network, whose locks other hosts share",
                   "let root make /run/lock/train on the host, or hold nothing: --set leases=none");
  return folder;
}

void add(Error& all, const Error& more) {
  all.diagnostics.insert(all.diagnostics.end(), more.diagnostics.begin(), more.diagnostics.end());
}

// The first usable place. `nullopt` if none of them exists. `before` are earlier places of the
// order, to be listed in `others`.
Result<std::optional<LeaseFolder>> first_of(const std::vector<LeasePlace>& places,
                                            std::vector<LeasePlace> before,
                                            std::optional<Error> squats, FileSystemKind kind_of) {
  for (auto place = places.begin(); place != places.end(); before.push_back(*place++)) {
    const Descriptor found = found_at(*place);
    const int why = errno;
    if (!found && (place->is_named || !is_absent(why)))
      return refused(*place, "cannot be opened: " + system_reason(why),
                     "ask who administers the host");
    if (!found) continue;
    auto folder = opened(*place, found, kind_of);
    if (!folder) return tl::make_unexpected(folder.error());
    if (const auto squat = squat_on(*folder, lease_mutex_name)) {
      if (squats)
        add(*squats, *squat);
      else
        squats = squat;
      continue;
    }
    folder->later.assign(place + 1, places.end());
    folder->others = std::move(before);
    folder->others.insert(folder->others.end(), folder->later.begin(), folder->later.end());
    return std::optional(std::move(*folder));
  }
  if (squats) return tl::make_unexpected(*squats);
  return std::optional<LeaseFolder>();
}

bool is_for_all_to_lock(const struct stat& status) {
  constexpr mode_t for_all = 0666;
  return S_ISREG(status.st_mode) && (status.st_mode & for_all) == for_all;
}

const char* kind_of_file(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "a folder";
    case S_IFLNK:
      return "a link";
    case S_IFIFO:
      return "a pipe";
    case S_IFSOCK:
      return "a socket";
    case S_IFREG:
      return "a file that others may not lock";
    default:
      return "no file";
  }
}

// Whether tasks have ever used the folder. Any user may have made some of the files there, and can
// remove those, so one file that is left is enough.
bool was_used(const LeaseFolder& folder) {
  FolderReader reader(folder.folder.get());
  if (!reader) return true;
  std::size_t read = 0;
  while (const char* name = reader.next())
    if (std::string_view(name).starts_with(folder.prefix) || ++read == most_folder_names)
      return true;
  return errno != 0;
}

}  // namespace

const std::vector<LeasePlace>& usual_lease_places() {
  static const std::vector<LeasePlace> places{
      {"/run/lock/train", true, false}, {"/run/lock", false, false}, {"/tmp", false, true}};
  return places;
}

Result<LeaseFolder> open_lease_folder(const std::vector<LeasePlace>& places,
                                      FileSystemKind kind_of) {
  auto folder = first_of(places, {}, {}, kind_of);
  if (!folder) return tl::make_unexpected(folder.error());
  if (*folder) return std::move(**folder);
  std::string names;
  for (const LeasePlace& each : places) names += (names.empty() ? "" : ", ") + each.path;
  return fail(
      ErrorClass::host,
      fmt::format("there is no folder on it in which all users can hold slots: none of {} "
                  "is root's and open to everybody",
                  names),
      "let root make /run/lock/train there (mode 1777), or hold nothing: --set leases=none");
}

bool is_among(const std::vector<LeasePlace>& places, const std::string& path) {
  return std::any_of(places.begin(), places.end(),
                     [&](const LeasePlace& place) { return place.path == path; });
}

Result<LeaseFolder> lease_folder_after(const LeaseFolder& folder, const Error& squat) {
  std::vector<LeasePlace> before;
  for (const LeasePlace& place : folder.others)
    if (!is_among(folder.later, place.path)) before.push_back(place);
  before.push_back({folder.path, folder.prefix.empty(), folder.is_tidied});
  auto next = first_of(folder.later, std::move(before), squat, file_system_kind);
  if (!next) return tl::make_unexpected(next.error());
  if (*next) return std::move(**next);
  return tl::make_unexpected(squat);
}

bool is_for_all_to_lock(int file) {
  struct stat status {};
  return ::fstat(file, &status) == 0 && is_for_all_to_lock(status);
}

std::optional<Error> squat_on(const LeaseFolder& folder, const std::string& name) {
  const std::string path = folder.prefix + name;
  struct stat status {};
  if (::fstatat(folder.folder.get(), path.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      is_for_all_to_lock(status))
    return std::nullopt;
  const std::string user = user_name_in_passwd(status.st_uid);
  return make_error(ErrorClass::host,
                    fmt::format("'{}/{}' is {} of {}, so that no slots can be held with it",
                                folder.path, path, kind_of_file(status.st_mode),
                                user.empty() ? fmt::format("user {}", status.st_uid) : user),
                    "ask that user, or who administers the host, to remove it, or hold nothing: "
                    "--set leases=none");
}

std::vector<std::string> names_in(const LeaseFolder& folder, bool* is_complete) {
  std::vector<std::string> names;
  FolderReader reader(folder.folder.get());
  const char* name = nullptr;
  std::size_t read = 0;
  const auto has_room = [&] { return names.size() < most_lease_names && read < most_folder_names; };
  for (; reader && has_room() && (name = reader.next()) != nullptr; ++read)
    if (std::string_view(name).starts_with(folder.prefix))
      names.emplace_back(name + folder.prefix.size());
  if (is_complete != nullptr) *is_complete = reader && has_room() && errno == 0;
  return names;
}

Result<std::vector<LeaseFolder>> other_lease_folders(const LeaseFolder& folder) {
  std::vector<LeaseFolder> folders;
  for (const LeasePlace& place : folder.others) {
    const Descriptor found = found_at(place);
    if (!found && !is_absent(errno))
      return refused(place, "cannot be looked into: " + system_reason(errno),
                     "ask who administers the host");
    if (!found) continue;
    LeaseFolder other = folder_at(place, found);
    if (!other.folder || ::faccessat(other.folder.get(), ".", X_OK, AT_EACCESS) != 0)
      return refused(place, "this user may not look into: " + system_reason(errno), ask_for_group);
    // Skips network file systems, where no leases are taken, and a second name of the same folder.
    const bool is_same = other.identity == folder.identity && other.prefix == folder.prefix;
    if (is_same || is_shared_by_machines(file_system_kind(other.folder.get())) || !was_used(other))
      continue;
    folders.push_back(std::move(other));
  }
  return folders;
}

}  // namespace train
