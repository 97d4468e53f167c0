// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/lease/lease_folder.hpp"
#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/lease/lease.hpp"

namespace train {

/// How the names begin of files that are being made.
inline constexpr std::string_view draft_prefix = "draft-";
/// Far more than tasks make of anything: each costs the kernel a walk through all of them.
inline constexpr std::size_t most_lease_pieces = 1'024;

/// The file whose bytes are the units of something that can be held. It is empty, belongs to
/// whoever came first, and is never removed: only its locks mean anything, and these are of the
/// open file description (F_OFD_SETLK), so that they go when the last process that has it open is
/// gone.
class LeaseFile {
 public:
  /// Opens it to lock, and makes it where it is not there yet. Class `host`; `busy` where somebody
  /// keeps us out for now, with who that is, or what he has made of the name, as its words.
  static Result<LeaseFile> open(const LeaseFolder& folder, const std::string& name);
  /// Makes the file in which a task says who it is, which lives as long as it is locked: all may
  /// read it, its user alone writes. It begins with `stem`, and its end nobody can foresee: else
  /// somebody would have it already. It has its name once it is locked and has the text. Classes as
  /// those of `open`.
  static Result<LeaseFile> make_record(const LeaseFolder& folder, const std::string& stem,
                                       std::string_view text);
  /// Opens one that is there, to look at; none where it is not.
  static LeaseFile look(const LeaseFolder& folder, const std::string& name);

  explicit operator bool() const { return static_cast<bool>(file_); }
  int descriptor() const { return file_.get(); }
  /// Without the folder's prefix.
  std::string name(const LeaseFolder& folder) const { return name_.substr(folder.prefix.size()); }

  /// What others hold of it below `end`; merged. Of very many pieces not all are asked for: what
  /// is not counts as held.
  std::vector<LeaseRange> held_by_others(std::uint64_t end,
                                         std::size_t most = most_lease_pieces) const;
  /// Of a record: whether its task lives.
  bool is_alive() const;
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
