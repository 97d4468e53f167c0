// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "backends/log/log_reader.hpp"
#include "cli/surroundings/moment.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/output/line_splitter.hpp"

namespace train {

/// Which lines of logs are shown. A line is as old as the piece that its end is in.
struct LineChoice {
  std::optional<OutputStream> stream;    ///< only of this one
  std::optional<std::int64_t> since_us;  ///< only from this instant on, since the Unix epoch
  std::optional<std::uint64_t> last;     ///< of all of these only so many

  bool is_all() const { return !stream && !since_us && !last; }
};

/// How they are shown.
struct LineStyle {
  bool is_bytes = false;  ///< as they are, without a prefix: of one rank
  bool has_times = false;
};

/// Counts lines, and lets those behind the first `to_skip` pass that are young enough.
class LineGate {
 public:
  /// None passes.
  static constexpr std::uint64_t skip_all = std::numeric_limits<std::uint64_t>::max();

  explicit LineGate(std::optional<std::int64_t> since_us = {}, std::uint64_t to_skip = 0)
      : since_us_(since_us), to_skip_(to_skip) {}

  /// Whether the next line would pass if it had this time.
  bool is_open(std::int64_t time_us) const { return to_skip_ == 0 && is_young(time_us); }
  /// A line with this time has come; whether it passes.
  bool pass(std::int64_t time_us) {
    if (!is_young(time_us)) return false;
    ++count_;
    if (to_skip_ == 0) return true;
    if (to_skip_ != skip_all) --to_skip_;
    return false;
  }
  /// How many lines that were young enough have come.
  std::uint64_t count() const { return count_; }

 private:
  bool is_young(std::int64_t time_us) const { return !since_us_ || time_us >= *since_us_; }

  std::optional<std::int64_t> since_us_;
  std::uint64_t to_skip_;
  std::uint64_t count_ = 0;
};

/// What is shown of the log of a rank, in order: lines, or bytes as they are.
class RankLog {
 public:
  /// `directory` outlives it.
  RankLog(const LogDirectory& directory, int rank, std::string file, LineStyle style,
          std::optional<OutputStream> stream);

  /// Before anything is read: begins where the lines of the choice begin, or somewhat before them.
  /// Costs about as much as is shown then, whatever the length of the log.
  Result<void> begin_near(const LineChoice& choice);
  /// The next piece that is there as of the last refresh of the directory; nothing when there is
  /// none yet.
  Result<std::optional<LogReader::Next>> peek();
  /// Appends the lines that the piece completes, or its bytes.
  Result<void> append_next(const LogReader::Next& next, LineGate& gate, std::string& text);
  /// Appends what is left without a newline.
  void append_end(LineGate& gate, std::string& text);
  /// How many bytes at the end of the log cannot be shown.
  std::uint64_t bytes_without_record() const { return reader_.bytes_without_record(); }
  const std::string& file() const { return file_; }

 private:
  Result<bool> has_enough(std::uint64_t bytes, const LineChoice& choice) const;
  Result<bool> has_whole_lines(std::uint64_t bytes, std::int64_t since_us) const;
  void append_line(std::string_view line, std::int64_t time_us, LineGate& gate, std::string& text);
  void append_bytes(std::string_view bytes, std::int64_t time_us, LineGate& gate,
                    std::string& text);
  void append_gap(const std::string& said, std::int64_t time_us, LineGate& gate, std::string& text);

  const LogDirectory* directory_;
  int rank_;
  std::string file_;
  LogReader reader_;
  LineStyle style_;
  std::optional<OutputStream> stream_;
  std::string prefix_;  ///< "[3] "
  MomentWriter times_;
  std::int64_t last_time_us_ = 0;  ///< of what was read last
  LineSplitter out_;
  LineSplitter err_;
  std::string begun_;        ///< of bytes: a line that has not passed and not ended; its last part
  bool has_begun_ = false;   ///< there is one
  bool is_passing_ = false;  ///< of bytes: the first line has passed, and all pass
};

}  // namespace train
