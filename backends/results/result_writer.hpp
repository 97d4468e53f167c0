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

/// Receives the messages of a host, in an order that a GetOrder has checked: Found, Entry, FileEnd
/// and FolderEnd. After an error only `discard` may be called.
class ResultSink {
 public:
  virtual ~ResultSink() = default;
  virtual Result<void> take(const GetMessage& message) = 0;
  virtual Result<void> take_content(std::string_view bytes) = 0;
  /// Everything was received.
  virtual Result<void> finish() = 0;
  /// The result is incomplete or no longer wanted.
  virtual Result<void> discard() = 0;
};

/// "model.pt" in ".", "/tmp/model.pt" in "/tmp".
std::string path_in(const std::string& folder, const std::string& name);

/// What to do when a file with the name exists.
enum class IfThere { refuse, replace };

/// Writes a file or folder next to its final place, under a temporary name, and renames it when it
/// is complete and on the disk: an incomplete result is never visible under the final name, not
/// even after a loss of power. Nothing is written outside of it, whatever the host sends: each
/// folder is created and opened on its own, never through a link, and no existing file is opened.
/// Links are created as they are; of modes only the permissions are used. Pieces of zeros become
/// holes.
///
/// Errors are of class `no_input` and name the path; of class `usage` when an existing file must
/// not be replaced. A folder replaces only folders, and a file no folder. Nothing replaces itself,
/// when the host shares this file system: a rank may have it open.
class ResultWriter final : public ResultSink {
 public:
  /// `folder` must exist; `mask` is removed from modes (umask).
  ResultWriter(std::string folder, std::string name, IfThere if_there, mode_t mask);

  Result<void> take(const GetMessage& message) override;
  Result<void> take_content(std::string_view bytes) override;
  Result<void> finish() override;
  Result<void> discard() override;

  std::uint64_t files() const { return files_; }
  std::uint64_t bytes() const { return bytes_; }  ///< in these files
  /// The final path, and the temporary one.
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
  Descriptor root_;              ///< the received folder, open since it was created
  get_talk::Identity identity_;  ///< of the file or folder on its host
  bool is_lost_ = false;         ///< the result is a file that was not complete
  std::vector<Folder> folders_;  ///< the open folders, each inside the one before it
  Descriptor file_;
  std::string file_name_;
  unsigned file_mode_ = 0;
  std::uint64_t offset_ = 0;  ///< in `file_`
  std::uint64_t files_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace train
