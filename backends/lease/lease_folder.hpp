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

/// Where the folder may be: the first of these that is there.
struct LeasePlace {
  std::string path;
  /// It is for leases alone: root has made it, and may have kept it for a group. Else it is one
  /// that everybody may write to.
  bool is_own = false;
  bool is_tidied = false;
  bool is_named = false;  ///< somebody has said that it is to be this one
};
inline LeasePlace named_place(std::string path) { return {std::move(path), true, false, true}; }

/// The file that everybody has locked in the folder who has taken something there.
inline constexpr const char* lease_mutex_name = "mutex";

/// The folder in which all users of a host lock what they hold of it.
struct LeaseFolder {
  Descriptor folder;
  std::string path;
  std::string prefix;  ///< of the names there: other programs use the folder as well
  /// Old files are removed there by others: what is held is to be touched now and then.
  bool is_tidied = false;
  /// The boot and the folder: what has another identity shares no locks with this one, as on
  /// another host or in a container.
  std::string identity;
  /// The other places of the order. Tasks that came before one of them was made, or a better one,
  /// hold slots of the same host there.
  std::vector<LeasePlace> others = {};
  /// Of these, those that come after it.
  std::vector<LeasePlace> later = {};
};

/// /run/lock/train, /run/lock, /tmp: the same for everybody, so that two users never look in two
/// places.
const std::vector<LeasePlace>& usual_lease_places();

/// Opens the first of the places in which nobody squats on the mutex. One that is there and cannot
/// be used is an error of class `host`, since others may use it; so is a file system that other
/// machines use as well, whose locks are not this kernel's.
using FileSystemKind = std::uint32_t (*)(int folder);
Result<LeaseFolder> open_lease_folder(const std::vector<LeasePlace>& places = usual_lease_places(),
                                      FileSystemKind kind_of = file_system_kind);

/// Whether one of the places is that folder.
bool is_among(const std::vector<LeasePlace>& places, const std::string& path);

/// The next one of the order, where somebody squats on a name of `folder`, as `squat` says, which
/// is the error when there is none.
Result<LeaseFolder> lease_folder_after(const LeaseFolder& folder, const Error& squat);

/// Whether it is a file that everybody may lock.
bool is_for_all_to_lock(int file);

/// What is wrong where a name of the folder is no file that all users may lock: anybody can make
/// another thing of that name, where all may write. It is the same for all users, and says whose it
/// is. Class `host`.
std::optional<Error> squat_on(const LeaseFolder& folder, const std::string& name);

/// What is in the folder for leases, without the prefix; of very many the first `most_lease_names`,
/// among the first `most_folder_names` of everybody's.
inline constexpr std::size_t most_lease_names = 65'536;
inline constexpr std::size_t most_folder_names = 262'144;
/// `is_complete`: whether these are all.
std::vector<std::string> names_in(const LeaseFolder& folder, bool* is_complete = nullptr);

/// Of the other places of `folder`, those in which there are files of tasks, to be read. Class
/// `host` where this user may not look into one.
Result<std::vector<LeaseFolder>> other_lease_folders(const LeaseFolder& folder);

}  // namespace train
