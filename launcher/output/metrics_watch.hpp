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

/// The metrics that a rank has reported: one line of its metrics file.
struct MetricsReport {
  int rank = 0;
  std::string json;  ///< an object, on one line

  bool operator==(const MetricsReport&) const = default;
};

/// A longer line of a metrics file is not a report.
constexpr std::size_t longest_report_line = 16u << 10;

/// The JSON object in a line of a metrics file, as standard JSON: Python writes NaN and Infinity;
/// NaN becomes null, Infinity becomes a text. Nothing if the line is not an object, or is nested
/// deeper than 32 levels.
std::optional<std::string> metrics_of_line(std::string_view line);

/// Finds the reports in the metrics files of an attempt's ranks. A report is a line with a JSON
/// object of at most 16 KiB, ended by a newline: a line that was unfinished when its rank died is
/// not one. Empty lines are skipped; all other lines that are not reports are counted.
class MetricsWatch {
 public:
  /// The reports in the lines that this chunk completes; none for other streams.
  std::vector<MetricsReport> look(const OutputChunk& chunk);
  /// The attempt is over: another one begins its files anew.
  void end();
  /// Number of lines of all attempts that were not reports.
  std::uint64_t ignored() const { return ignored_; }

 private:
  /// The unfinished line of a rank.
  struct Line {
    std::string begin;
    bool is_lost = false;  ///< it is too long, or parts of it are missing
  };

  void end_line(int rank, Line& line, std::vector<MetricsReport>& reports);

  std::map<int, Line> lines_;  ///< by rank
  std::uint64_t ignored_ = 0;
};

}  // namespace train
