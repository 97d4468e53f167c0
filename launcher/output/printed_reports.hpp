// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config_schema/text/group_patterns.hpp"
#include "launcher/output/metrics_watch.hpp"
#include "launcher/wire/output_chunk.hpp"

namespace train {

/// Finds reports in the output of an attempt's ranks, by patterns with named groups
/// (`metrics.pattern`), each stream of a rank separately.
///
/// A line is checked once its newline has come, as a terminal shows it: without text that a
/// carriage return has overwritten, and without escape sequences, such as colors. A line that is
/// longer than `longest_report_line`, or incomplete, has no report, since half a number is another
/// number. The groups that took part in the match of any pattern are one report; if several have
/// the same name, the first one counts. Values are as from `printed_value`.
class PrintedReports {
 public:
  /// All patterns must be valid.
  explicit PrintedReports(const std::vector<std::string>& patterns);

  /// The reports in the lines that this chunk completes.
  std::vector<MetricsReport> look(const OutputChunk& chunk);
  /// The attempt is over: another one prints from now on. Unfinished lines are dropped.
  void end() { lines_.clear(); }

 private:
  /// The unfinished line of a stream.
  struct Line {
    std::string begin;
    bool is_lost = false;      ///< it is too long, or parts of it are missing
    bool is_returned = false;  ///< further text overwrites it

    void add(std::string_view piece);
  };

  void end_line(int rank, const Line& line, std::vector<MetricsReport>& reports) const;

  GroupPatterns patterns_;
  bool is_idle_;  ///< there is nothing to look for
  std::map<std::pair<int, OutputStream>, Line> lines_;
};

/// The JSON of a printed value: a number if it is one, as programs write them (`+0.5`, `.5`, `5.`,
/// `007`), within the range of a double; else as from `report_value`.
std::string printed_value(std::string_view text);

}  // namespace train
