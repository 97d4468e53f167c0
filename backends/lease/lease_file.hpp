// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/lease/lease_folder.hpp"
#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/lease/lease.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// The prefix of the names of files that are being made.
inline constexpr std::string_view draft_prefix = "draft-";
/// The limit of locked ranges examined per file; far more than tasks make. Each query costs the
/// kernel a walk through all locks.
inline constexpr std::size_t most_lease_pieces = 1'024;

/// A file whose byte positions stand for the units of a resource that can be leased. It is empty,
/// belongs to the user who first needed it, and is never removed: only its locks matter. They
/// belong to the open file description (F_OFD_SETLK), so they end with the last process that has it
/// open.
class LeaseFile {
 public:
  /// Opens it for locking, and makes it if it does not exist. Class `host`; `busy` if another user
  /// prevents it for now: the message names that user, or what was made in place of the file.
  static Result<LeaseFile> open(const LeaseFolder& folder, const std::string& name);
  /// Makes a record: a file in which a task identifies itself, valid as long as it is locked. All
  /// users may read it, only its own may write. Its name is `stem` with a random ending, so that
  /// other users cannot take it in advance. The name appears only when the file is locked and has
  /// its text. Error classes as for `open`.
  static Result<LeaseFile> make_record(const LeaseFolder& folder, const std::string& stem,
                                       std::string_view text);
  /// Opens an existing file for reading; an empty object if there is none.
  static LeaseFile look(const LeaseFolder& folder, const std::string& name);

  explicit operator bool() const { return static_cast<bool>(file_); }
  int descriptor() const { return file_.get(); }
  /// The name without the folder's prefix.
  std::string name(const LeaseFolder& folder) const { return name_.substr(folder.prefix.size()); }

  /// The ranges below `end` that other open file descriptions have locked; merged. Examines about
  /// `most` ranges; the rest counts as held.
  std::vector<LeaseRange> held_by_others(std::uint64_t end,
                                         std::size_t most = most_lease_pieces) const;
  /// For a record: whether its task lives.
  bool is_alive() const;
  /// False when another holder has a part of it.
  bool lock(const LeaseRange& range);
  void unlock(const LeaseRange& range);
  /// Whether the folder still has this very file under its name: a cleaner may have removed it, and
  /// another task may have made a new one.
  bool is_in(const LeaseFolder& folder) const;
  /// Touches the file, so that cleaners of old files leave it, and `was_touched_within` holds.
  void touch() const;
  /// Whether any user has touched the file in this time.
  bool was_touched_within(milliseconds time) const;

 private:
  explicit LeaseFile(std::string name, Descriptor file)
      : name_(std::move(name)), file_(std::move(file)) {}

  std::string name_;
  Descriptor file_;
};

/// Greater than the number of units of any resource.
inline constexpr std::uint64_t last_lease_unit = std::uint64_t{1} << 62;

}  // namespace train
