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

/// The files of a directory of logs, listed again only when some have come or gone.
class LogDirectory {
 public:
  explicit LogDirectory(std::string path) : path_(std::move(path)) {}

  /// Lists it as it is now. Fails with class `no_input`.
  Result<void> refresh();
  /// Where the segments of the log with this first file begin, in order.
  std::vector<std::uint64_t> segments_of(const std::string& log_file) const;

 private:
  std::string path_;
  std::optional<timespec> changed_;
  std::vector<std::string> names_;  ///< sorted
};

/// A log whose name has no attempt, `rank-3.log`, is one that an earlier train wrote, without an
/// index: it is read as one stream without times.
class LogReader {
 public:
  struct Next {
    LogRecord record;
    std::uint64_t gap = 0;  ///< how many bytes before it are missing
  };

  /// `directory` outlives the reader.
  LogReader(const LogDirectory& directory, std::string log_file);

  /// Before anything else is read: begins with the piece in which the last `bytes` begin, as of the
  /// last refresh of the directory. Costs the index of one segment, whatever the length of the log.
  Result<void> begin_at_last(std::uint64_t bytes);
  /// The next piece that is there as of the last refresh of the directory; nothing when there is
  /// none yet. Fails with class `no_input` when the log cannot be read.
  Result<std::optional<Next>> peek();
  /// Takes the piece that `peek` showed: its bytes, which are valid until the next call; none of a
  /// gap (`LogRecord::dropped`). Nothing when it was removed since; it then counts to the next gap.
  Result<std::optional<std::string_view>> take();
  /// Passes over that piece without reading its bytes.
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
  Result<bool> read_plain();
  Result<bool> next_segment();
  Result<bool> read_ahead(std::uint64_t offset, std::size_t length);
  std::optional<std::string_view> forget_records();
  tl::unexpected<Error> unreadable(const std::string& path, int error) const;
  tl::unexpected<Error> damaged(const std::string& path) const;

  const LogDirectory& directory_;
  std::string log_file_;
  bool is_plain_;
  std::uint64_t segment_ = 0;   ///< where the one that is read begins
  std::uint64_t position_ = 0;  ///< what was read ends here
  std::uint64_t gap_ = 0;
  std::uint64_t offset_ = 0;      ///< where `position_` is in the file of the segment
  std::uint64_t index_size_ = 0;  ///< what was read of the index
  std::vector<Piece> records_;    ///< read and not yet taken; the next one is the last
  std::string ahead_;             ///< bytes of the segment from `ahead_begin_`
  std::uint64_t ahead_begin_ = 0;
};

/// The last of what a rank has written to this stream: `bytes` of it, as far as they are within the
/// last `most_looked_through` of its log. Fails with class `no_input` when that cannot be read.
Result<std::string> last_of_stream(const LogDirectory& directory, const std::string& log_file,
                                   OutputStream stream, std::uint64_t bytes);
constexpr std::uint64_t most_looked_through = 64u << 20;

}  // namespace train
