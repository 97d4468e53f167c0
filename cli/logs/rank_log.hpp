// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/log/log_reader.hpp"
#include "cli/surroundings/time_text.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/output/line_folder.hpp"
#include "launcher/output/line_splitter.hpp"

namespace train {

/// Which lines of logs are shown. The time of a line is that of the piece that contains its end.
struct LineChoice {
  std::optional<OutputStream> stream;  ///< only this stream
  /// Only from this instant on, in microseconds since the Unix epoch.
  std::optional<std::int64_t> since_us;
  std::optional<std::uint64_t> last;  ///< only this many last lines of those that match

  bool is_all() const { return !stream && !since_us && !last; }
};

/// How lines are shown.
struct LineStyle {
  bool is_bytes = false;  ///< raw bytes without a prefix: for one rank only
  bool has_times = false;
  bool is_folded = false;  ///< a line that many ranks print is shown once
};

/// Counts the lines that are young enough, and lets them pass after the first `to_skip`.
class LineGate {
 public:
  /// Lets no line pass.
  static constexpr std::uint64_t skip_all = std::numeric_limits<std::uint64_t>::max();

  explicit LineGate(std::optional<std::int64_t> since_us = {}, std::uint64_t to_skip = 0)
      : since_us_(since_us), to_skip_(to_skip) {}

  /// Whether the next line would pass with this time.
  bool is_open(std::int64_t time_us) const { return to_skip_ == 0 && is_young(time_us); }
  /// Registers a line with this time; returns whether it passes.
  bool pass(std::int64_t time_us) {
    if (!is_young(time_us)) return false;
    ++count_;
    if (to_skip_ == 0) return true;
    if (to_skip_ != skip_all) --to_skip_;
    return false;
  }
  /// The number of lines so far that were young enough.
  std::uint64_t count() const { return count_; }

 private:
  bool is_young(std::int64_t time_us) const { return !since_us_ || time_us >= *since_us_; }

  std::optional<std::int64_t> since_us_;
  std::uint64_t to_skip_;
  std::uint64_t count_ = 0;
};

/// The shown part of the log of a rank, in order: lines, or raw bytes.
class RankLog {
 public:
  /// `directory` outlives it, as does `folder`, which may be null: else lines go there instead of
  /// being appended.
  RankLog(const LogDirectory& directory, int rank, std::string file, LineStyle style,
          std::optional<OutputStream> stream, LineFolder* folder = nullptr);

  /// Goes to the first line of the choice, or somewhat before it. Call it before anything is read.
  /// The cost is proportional to what is shown, not to the length of the log.
  Result<void> begin_near(const LineChoice& choice);
  /// The next piece, as of the last refresh of the directory; nothing if there is none yet.
  Result<std::optional<LogReader::Next>> peek();
  /// Appends the lines that the piece completes, or its raw bytes.
  Result<void> append_next(const LogReader::Next& next, LineGate& gate, std::string& text);
  /// Appends an unfinished line that was begun anew with a carriage return, such as a progress bar,
  /// as a terminal would show it, for each stream that has one.
  void append_rewritten(std::vector<std::string>& lines) const;
  /// Appends the rest that has no newline.
  void append_end(LineGate& gate, std::string& text);
  /// The number of bytes at the end of the log that cannot be shown.
  std::uint64_t bytes_without_record() const { return reader_.bytes_without_record(); }
  const std::string& file() const { return file_; }

 private:
  Result<bool> has_enough(std::uint64_t bytes, const LineChoice& choice) const;
  Result<bool> has_whole_lines(std::uint64_t bytes, std::int64_t since_us) const;
  void append_line(std::string_view line, std::int64_t time_us, LineGate& gate, std::string& text);
  void put(std::string_view line, std::int64_t time_us, std::string& text);
  void append_bytes(std::string_view bytes, std::int64_t time_us, LineGate& gate,
                    std::string& text);
  void append_gap(const std::string& said, std::int64_t time_us, LineGate& gate, std::string& text);

  const LogDirectory* directory_;
  int rank_;
  std::string file_;
  LogReader reader_;
  LineStyle style_;
  std::optional<OutputStream> stream_;
  LineFolder* folder_;
  std::string prefix_;  ///< "[3] "
  MomentWriter times_;
  std::int64_t last_time_us_ = 0;  ///< of the last piece read
  LineSplitter out_;
  LineSplitter err_;
  std::string begun_;        ///< raw bytes: the last part of an unfinished line that is held back
  bool has_begun_ = false;   ///< such a line is held back
  bool is_passing_ = false;  ///< raw bytes: the first line has passed, so everything passes
};

}  // namespace train
