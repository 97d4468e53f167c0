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

/// Finds reports in what the ranks of an attempt print, by patterns with named groups
/// (`metrics.pattern`), each stream of a rank by itself.
///
/// A line is looked at once its newline has come, as a terminal shows it: without what a carriage
/// return has overwritten, and without escape sequences, such as colors. One that is longer than
/// `longest_report_line`, or of which not all came, has no report: half a number is another one.
/// The groups that have taken part in the match of any pattern are one report; of a name that
/// several have, the first counts. Values are as `printed_value` has them.
class PrintedReports {
 public:
  /// None of the patterns has a fault.
  explicit PrintedReports(const std::vector<std::string>& patterns);

  /// The reports in the lines that this chunk completes.
  std::vector<MetricsReport> look(const OutputChunk& chunk);
  /// The attempt is over: another one prints from here on. What has not ended is no line.
  void end() { lines_.clear(); }

 private:
  /// The line that a stream has not ended yet.
  struct Line {
    std::string begin;
    bool is_lost = false;      ///< it is too long, or not all of it came
    bool is_returned = false;  ///< what comes next overwrites it

    void add(std::string_view piece);
  };

  void end_line(int rank, const Line& line, std::vector<MetricsReport>& reports) const;

  GroupPatterns patterns_;
  bool is_idle_;  ///< there is nothing to look for
  std::map<std::pair<int, OutputStream>, Line> lines_;
};

/// What a program has printed as JSON: a number where it is one, as programs write them (`+0.5`,
/// `.5`, `5.`, `007`), within the reach of a double; else as `report_value`.
std::string printed_value(std::string_view text);

}  // namespace train
