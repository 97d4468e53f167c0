// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/wire/output_chunk.hpp"

namespace train {

/// What a rank has said of its training: one line of its metrics file.
struct MetricsReport {
  int rank = 0;
  std::string json;  ///< an object, on one line

  bool operator==(const MetricsReport&) const = default;
};

/// A line of a metrics file that is longer is no report.
constexpr std::size_t longest_report_line = 16u << 10;

/// The JSON object in a line of a metrics file, as JSON that any reader takes: Python writes NaN
/// and Infinity, of which the first becomes null and the second a text. Nothing when the line is
/// no object, or nested deeper than 32 levels.
std::optional<std::string> metrics_of_line(std::string_view line);

/// Finds the reports in what the ranks of an attempt append to their metrics files. A line is a
/// report when it is a JSON object of at most 16 KiB, ended by a newline: what a rank had not
/// finished when it died is none. Empty lines are nothing; all others are counted.
class MetricsWatch {
 public:
  /// The reports in the lines that this chunk completes; those of other streams have none.
  std::vector<MetricsReport> look(const OutputChunk& chunk);
  /// The attempt is over: another one begins its files anew.
  void end();
  /// Lines of all attempts that were no reports.
  std::uint64_t ignored() const { return ignored_; }

 private:
  /// The line that a rank has not ended yet.
  struct Line {
    std::string begin;
    bool is_lost = false;  ///< it is too long, or not all of it came
  };

  void end_line(int rank, Line& line, std::vector<MetricsReport>& reports);

  std::map<int, Line> lines_;  ///< by rank
  std::uint64_t ignored_ = 0;
};

}  // namespace train
