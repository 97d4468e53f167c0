// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/output/log_index.hpp"

namespace train {

/// The files of a log directory, listed again only when files were added or removed.
class LogDirectory {
 public:
  explicit LogDirectory(std::string path) : path_(std::move(path)) {}

  /// Updates the list. Fails with class `no_input`.
  Result<void> refresh();
  /// The positions of the segments of the log whose first file is `log_file`, in order.
  std::vector<std::uint64_t> segments_of(const std::string& log_file) const;

 private:
  std::string path_;
  std::optional<timespec> changed_;
  std::vector<std::string> names_;  ///< sorted
};

/// Reads a log while it may still be written.
class LogReader {
 public:
  struct Next {
    LogRecord record;
    std::uint64_t gap = 0;  ///< how many bytes before it are missing
  };

  /// `directory` outlives the reader.
  LogReader(const LogDirectory& directory, std::string log_file);

  /// Starts at the piece in which the last `bytes` begin, as of the last refresh of the directory.
  /// Must be called before any other read. Reads the index of one segment only, whatever the length
  /// of the log.
  Result<void> begin_at_last(std::uint64_t bytes);
  /// The next piece, as of the last refresh of the directory; nothing when there is none yet. Fails
  /// with class `no_input` when the log cannot be read.
  Result<std::optional<Next>> peek();
  /// Takes the piece that `peek` returned: its bytes, which are valid until the next call, and are
  /// empty for a gap (`LogRecord::dropped`). Nothing when the piece was removed meanwhile; it then
  /// counts as part of the next gap.
  Result<std::optional<std::string_view>> take();
  /// Skips that piece without reading its bytes.
  void pass() { records_.pop_back(); }
  /// How many bytes at the end of the log have no record: they are being written, or a crash has
  /// left them.
  std::uint64_t bytes_without_record() const;

 private:
  struct Piece {
    LogRecord record;
    std::uint64_t offset = 0;  ///< in the file of its segment
  };
  std::uint64_t find_last(std::uint64_t bytes);
  Result<bool> read_index();
  Result<bool> next_segment();
  Result<bool> read_ahead(std::uint64_t offset, std::size_t length);
  std::optional<std::string_view> forget_records();
  tl::unexpected<Error> unreadable(const std::string& path, int error) const;
  tl::unexpected<Error> damaged(const std::string& path) const;

  const LogDirectory& directory_;
  std::string log_file_;
  std::uint64_t segment_ = 0;   ///< position of the current segment
  std::uint64_t position_ = 0;  ///< end of what was read, in the log
  std::uint64_t gap_ = 0;
  std::uint64_t offset_ = 0;      ///< the offset of `position_` in the file of the segment
  std::uint64_t index_size_ = 0;  ///< bytes read of the index
  std::vector<Piece> records_;    ///< read and not yet taken; the next one is the last
  std::string ahead_;             ///< bytes of the segment from `ahead_begin_`
  std::uint64_t ahead_begin_ = 0;
};

/// The last `bytes` that a rank has written to this stream, as far as they are within the last
/// `most_looked_through` bytes of its log. Fails with class `no_input` when the log cannot be read.
Result<std::string> last_of_stream(const LogDirectory& directory, const std::string& log_file,
                                   OutputStream stream, std::uint64_t bytes);
constexpr std::uint64_t most_looked_through = 64u << 20;

}  // namespace train
