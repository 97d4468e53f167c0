// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/lease/lease_folder.hpp"
#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/lease/lease.hpp"

namespace train {

/// The file whose bytes are the units of something that can be held. It is empty, belongs to
/// whoever came first, and is never removed: only its locks mean anything, and these are of the
/// open file description (F_OFD_SETLK), so that they go when the last process that has it open is
/// gone.
class LeaseFile {
 public:
  /// Opens it to lock, and makes it where it is not there yet. Class `host`.
  static Result<LeaseFile> open(const LeaseFolder& folder, const std::string& name);
  /// Makes the file in which a holder says who it is, and that it lives as long as it is locked:
  /// all may read it, its user alone writes. One of this user with that name goes first. Class
  /// `host`.
  static Result<LeaseFile> make_record(const LeaseFolder& folder, const std::string& name);
  /// Opens one that is there, to look at; none where it is not.
  static LeaseFile look(const LeaseFolder& folder, const std::string& name);

  explicit operator bool() const { return static_cast<bool>(file_); }
  int descriptor() const { return file_.get(); }

  /// What others hold of it below `end`; merged.
  std::vector<LeaseRange> held_by_others(std::uint64_t end) const;
  /// False when somebody else has some of it.
  bool lock(const LeaseRange& range);
  void unlock(const LeaseRange& range);
  /// Whether the folder still has this very file under its name: a tidied folder may have lost it,
  /// and somebody else has made another one.
  bool is_in(const LeaseFolder& folder) const;
  /// To whoever removes what is old, it is new.
  void keep_young() const;

 private:
  explicit LeaseFile(std::string name, Descriptor file)
      : name_(std::move(name)), file_(std::move(file)) {}

  std::string name_;
  Descriptor file_;
};

/// Beyond all units that anything has.
inline constexpr std::uint64_t last_lease_unit = std::uint64_t{1} << 62;

}  // namespace train
