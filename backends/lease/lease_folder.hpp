// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/file_system.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// A place where the folder may be; the first that exists is used.
struct LeasePlace {
  std::string path;
  /// True: it is for leases only; root has made it, and may have restricted it to a group. False:
  /// it is a folder where all users may write.
  bool is_own = false;
  bool is_tidied = false;
  bool is_named = false;  ///< it was configured explicitly
};
inline LeasePlace named_place(std::string path) { return {std::move(path), true, false, true}; }

/// The file in the folder that a task locks while it takes leases there.
inline constexpr const char* lease_mutex_name = "mutex";

/// The folder in which all users of a host lock their leases.
struct LeaseFolder {
  Descriptor folder;
  std::string path;
  std::string prefix;  ///< of the names there: other programs use the folder as well
  /// A cleaner removes old files there: files in use must be touched from time to time.
  bool is_tidied = false;
  /// The boot id and the folder's inode: folders with different identities share no locks, for
  /// example on another host or in a container.
  std::string identity;
  /// The other places of the order. Tasks that started before a folder of higher priority was made
  /// may hold slots of the same host there.
  std::vector<LeasePlace> others = {};
  /// The ones of these that come after this folder.
  std::vector<LeasePlace> later = {};
};

/// /run/lock/train, /run/lock, /tmp: the same order for all users, so that two users never use two
/// places.
const std::vector<LeasePlace>& usual_lease_places();

/// Opens the first existing place whose mutex name is not taken by a squatter. A place that exists
/// but cannot be used is an error of class `host`, since other users may use it; so is a network
/// file system, whose locks are shared with other machines.
using FileSystemKind = std::uint32_t (*)(int folder);
Result<LeaseFolder> open_lease_folder(const std::vector<LeasePlace>& places = usual_lease_places(),
                                      FileSystemKind kind_of = file_system_kind);

/// Whether one of the places has this path.
bool is_among(const std::vector<LeasePlace>& places, const std::string& path);

/// The next folder of the order, for when a name in `folder` is taken by a squatter. `squat`
/// describes that, and is the error if there is no next folder.
Result<LeaseFolder> lease_folder_after(const LeaseFolder& folder, const Error& squat);

/// Whether it is a regular file that all users may lock.
bool is_for_all_to_lock(int file);

/// An error if something of that name exists in the folder and is not a file that all users may
/// lock: where all may write, anyone can create such a thing. The result is the same for all users,
/// and names its owner. Class `host`.
std::optional<Error> squat_on(const LeaseFolder& folder, const std::string& name);

/// The names of lease files in the folder, without the prefix; at most the first
/// `most_lease_names`, among the first `most_folder_names` of all files.
inline constexpr std::size_t most_lease_names = 65'536;
inline constexpr std::size_t most_folder_names = 262'144;
/// `is_complete`: set to whether these are all.
std::vector<std::string> names_in(const LeaseFolder& folder, bool* is_complete = nullptr);

/// Opens, for reading, those of the other places of `folder` that tasks have used. Class `host` if
/// this user may not read one of them.
Result<std::vector<LeaseFolder>> other_lease_folders(const LeaseFolder& folder);

}  // namespace train
