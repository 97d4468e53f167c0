// SPDX-License-Identifier: Apache-2.0
#include "backends/lease/lease_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "backends/posix/file_system.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"

namespace train {

namespace {

constexpr mode_t shared_like_tmp = S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO;

// Whether the place is the one, for everybody alike: nothing of who we are is asked.
bool is_there(const LeasePlace& place) {
  if (place.is_named) return true;
  struct stat status {};
  if (::stat(place.path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  if (place.is_own) return status.st_uid == 0;
  return status.st_uid == 0 && (status.st_mode & shared_like_tmp) == shared_like_tmp;
}

auto refused(const LeasePlace& place, const std::string& why, const char* hint) {
  return fail(ErrorClass::host,
              fmt::format("its slots are held in '{}', which {}", place.path, why), hint);
}

constexpr const char* ask_for_group =
    "ask who administers the host for its group, or hold nothing: --set leases=none";

// To be read: errno says why it has no descriptor.
LeaseFolder folder_at(const LeasePlace& place) {
  LeaseFolder folder;
  folder.folder = Descriptor(::open(place.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
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

Result<LeaseFolder> opened(const LeasePlace& place, FileSystemKind kind_of) {
  LeaseFolder folder = folder_at(place);
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

// Its mutex is made before anything else, and stays.
bool was_used(const LeaseFolder& folder) {
  return ::faccessat(folder.folder.get(), (folder.prefix + lease_mutex_name).c_str(), F_OK, 0) == 0;
}

}  // namespace

const std::vector<LeasePlace>& usual_lease_places() {
  static const std::vector<LeasePlace> places{
      {"/run/lock/train", true, false}, {"/run/lock", false, false}, {"/tmp", false, true}};
  return places;
}

Result<LeaseFolder> open_lease_folder(const std::vector<LeasePlace>& places,
                                      FileSystemKind kind_of) {
  const auto place = std::find_if(places.begin(), places.end(), is_there);
  if (place != places.end()) {
    auto folder = opened(*place, kind_of);
    if (!folder) return folder;
    for (auto each = places.begin(); each != places.end(); ++each)
      if (each != place) folder->others.push_back(*each);
    return folder;
  }
  return fail(
      ErrorClass::host,
      fmt::format("there is no folder on it in which all users can hold slots: none of {} "
                  "is root's and open to everybody",
                  [&] {
                    std::string names;
                    for (const LeasePlace& each : places)
                      names += (names.empty() ? "" : ", ") + each.path;
                    return names;
                  }()),
      "let root make /run/lock/train there (mode 1777), or hold nothing: --set leases=none");
}

std::vector<std::string> names_in(const LeaseFolder& folder) {
  constexpr std::size_t most_names = 65'536;
  std::vector<std::string> names;
  for (const std::string& name : names_in(FolderReader(folder.folder.get()), most_names))
    if (name.starts_with(folder.prefix)) names.push_back(name.substr(folder.prefix.size()));
  return names;
}

Result<std::vector<LeaseFolder>> other_lease_folders(const LeaseFolder& folder) {
  std::vector<LeaseFolder> folders;
  for (const LeasePlace& place : folder.others) {
    if (!is_there(place)) continue;
    LeaseFolder other = folder_at(place);
    if (!other.folder && errno == ENOENT) continue;
    if (!other.folder || ::faccessat(other.folder.get(), ".", X_OK, AT_EACCESS) != 0)
      return refused(place, "this user may not look into: " + system_reason(errno), ask_for_group);
    // Nobody holds anything over a network, and two names may lead to one folder.
    const bool is_same = other.identity == folder.identity && other.prefix == folder.prefix;
    if (is_same || is_shared_by_machines(file_system_kind(other.folder.get())) || !was_used(other))
      continue;
    folders.push_back(std::move(other));
  }
  return folders;
}

}  // namespace train
