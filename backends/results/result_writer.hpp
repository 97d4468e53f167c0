// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/talks/get_talk.hpp"

namespace train {

/// Receives what a host sends, in an order that a GetOrder has checked: Found, Entry, FileEnd and
/// FolderEnd. After an error only `discard` is called.
class ResultSink {
 public:
  virtual ~ResultSink() = default;
  virtual Result<void> take(const GetMessage& message) = 0;
  virtual Result<void> take_content(std::string_view bytes) = 0;
  /// All has come.
  virtual Result<void> finish() = 0;
  /// It is not wanted any more, or broken.
  virtual Result<void> discard() = 0;
};

/// "model.pt" in ".", "/tmp/model.pt" in "/tmp".
std::string path_in(const std::string& folder, const std::string& name);

/// What is done where something has the name already.
enum class IfThere { refuse, replace };

/// Writes what comes beside where it will be, under a name of its own, and gives it the wanted one
/// when it is whole and on the disk; so nothing that is broken is ever seen there, not after a loss
/// of power either. Nothing is written outside of it, whatever the host says: each folder is made
/// and opened by itself, never through a link, and nothing that exists is opened. Links are made as
/// they are; of modes only the permissions count. Pieces of nothing but zeros become holes.
///
/// Errors are of class `no_input` and name the path; of class `usage` where something is there that
/// is not to be replaced. A folder replaces folders only, and a file no folder; and nothing
/// replaces itself, where the host has the same file system: a rank may have it open.
class ResultWriter final : public ResultSink {
 public:
  /// `folder` must exist; `mask` is what modes lose (umask).
  ResultWriter(std::string folder, std::string name, IfThere if_there, mode_t mask);

  Result<void> take(const GetMessage& message) override;
  Result<void> take_content(std::string_view bytes) override;
  Result<void> finish() override;
  Result<void> discard() override;

  std::uint64_t files() const { return files_; }
  std::uint64_t bytes() const { return bytes_; }  ///< of these
  /// What it is called when it is whole, and until then.
  std::string path() const { return path_in(folder_, name_); }
  std::string part_path() const { return path_in(folder_, part_); }

 private:
  struct Folder {
    std::string name;
    Descriptor descriptor;
    unsigned mode;
  };

  Result<void> begin(const get_talk::Found& found);
  Result<void> make(get_talk::Kind kind, const std::string& name, unsigned mode,
                    const std::string& target);
  Result<void> end_file(bool is_whole);
  Result<void> end_folder();
  Result<void> sync_folder() const;
  Result<void> check_target() const;
  Result<void> give_name();
  Result<void> exchange();
  int here() const { return folders_.empty() ? parent_.get() : folders_.back().descriptor.get(); }
  unsigned permissions(unsigned mode) const;
  std::string shown(std::string_view name) const;
  tl::unexpected<Error> trouble(std::string_view name, int error) const;

  const std::string folder_;
  const std::string name_;
  const IfThere if_there_;
  const mode_t mask_;
  const std::string part_;
  Descriptor parent_;
  bool is_folder_ = false;
  Descriptor root_;              ///< of a folder: what comes, open since it was made
  get_talk::Identity identity_;  ///< of what comes, on its host
  bool is_lost_ = false;         ///< it was a file, and is not whole
  std::vector<Folder> folders_;  ///< that are open, each in the one before it
  Descriptor file_;
  std::string file_name_;
  unsigned file_mode_ = 0;
  std::uint64_t offset_ = 0;  ///< in it
  std::uint64_t files_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace train
