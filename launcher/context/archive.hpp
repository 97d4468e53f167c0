// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "config_schema/text/error.hpp"
#include "launcher/context/context.hpp"

namespace train {

/// The format of a context: a POSIX tar archive (IEEE 1003.1, pax) without anything that could
/// differ between two packings of the same files. Entries are sorted by the bytes of their paths,
/// folders before their contents; no owner, no times; a pax header only for a path or target of
/// more than 100 bytes. tar(1) can read it.
///
///     for each entry: archive_header, the bytes of a file, archive_padding;  then archive_end

/// The header of an entry, before its content.
std::string archive_header(const ContextEntry& entry);
/// The padding after the content of a file of that size: zeros up to a whole block.
std::string archive_padding(std::uint64_t size);
/// The end of an archive.
std::string archive_end();

/// Size of an entry in the archive, including its content.
std::uint64_t archived_size(const ContextEntry& entry);

constexpr std::size_t archive_block = 512;

/// Transfers are compressed: zlib's largest window, with a gzip header.
constexpr int gzip_window = 15 + 16;

/// Receives the entries of an archive. An error from it ends the reading and is passed on.
class ArchiveSink {
 public:
  virtual ~ArchiveSink() = default;
  /// The next entry. Its folder has come before, and no other entry with its path.
  virtual Result<void> begin(const ContextEntry& entry) = 0;
  /// Content of the file that has begun, in pieces.
  virtual Result<void> content(std::string_view bytes) = 0;
  /// The entry is complete.
  virtual Result<void> end() = 0;
};

/// Reads an archive, in pieces of any size. Only output of the functions above is accepted, byte
/// for byte: every header must be the one that its entry would be given, paths must ascend, and
/// every folder must come before its contents. So no entry can be outside of the context, behind a
/// link, or twice at one path. After an error every further call repeats it.
class ArchiveReader {
 public:
  /// The sink must outlive the reader.
  explicit ArchiveReader(ArchiveSink& sink) : sink_(sink) {}

  /// The next bytes. An error of class `host` if no writer could have written them.
  Result<void> feed(std::string_view bytes);
  /// The end of the bytes: an error of class `host` if the archive is not complete.
  Result<void> finish();

 private:
  enum class State { header, long_names, long_header, content, padding, end, over };

  Result<void> step(std::string_view& bytes);
  bool collect(std::string_view& bytes, std::size_t count);
  Result<void> take_header();
  Result<void> take_long_names();
  Result<void> take_end();
  Result<void> begin(ContextEntry entry);
  Result<void> take_content(std::string_view& bytes);
  Result<void> after_content();
  tl::unexpected<Error> refuse(std::string_view why) const;

  ArchiveSink& sink_;
  State state_ = State::header;
  std::string block_;  ///< collected bytes of the current part
  std::string long_header_;
  std::size_t records_size_ = 0;
  ContextEntry entry_;
  ContextEntry long_names_;  ///< its path and target, if they are long
  std::uint64_t left_ = 0;   ///< remaining bytes of the content
  std::uint64_t content_sum_ = 0;
  std::size_t entries_ = 0;
  std::string last_path_;
  std::set<std::string, std::less<>> folders_;
  std::optional<Error> broken_;
};

}  // namespace train
