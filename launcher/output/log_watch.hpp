// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/text/line_patterns.hpp"
#include "launcher/output/line_splitter.hpp"
#include "launcher/wire/output_chunk.hpp"

namespace train {

/// A line that matches one of the experiment's `log_policies`.
struct PolicyMatch {
  std::size_t policy = 0;  ///< its index
  int rank = 0;
  std::string line;  ///< at most `longest_match` bytes, as printed

  bool operator==(const PolicyMatch&) const = default;
};
constexpr std::size_t longest_match = 200;

/// Looks for the patterns of the experiment's log policies in the output of an attempt's ranks,
/// line by line, each stream separately. Only the first match of each policy counts.
class LogWatch {
 public:
  explicit LogWatch(const std::vector<LogPolicy>& policies);

  /// A match of this policy is known in this attempt: further ones do not count.
  void know(std::size_t policy) { found_.insert(static_cast<int>(policy)); }
  /// The matches in the lines that this chunk completes. A gap ends the lines before it.
  std::vector<PolicyMatch> look(const OutputChunk& chunk);
  /// The attempt is over: the unfinished lines are checked as well. From now on another attempt
  /// prints.
  std::vector<PolicyMatch> end();

 private:
  void look(int rank, std::string_view line, std::vector<PolicyMatch>& matches);
  void end_lines(int rank, std::vector<PolicyMatch>& matches);

  LinePatterns patterns_;
  bool is_idle_;  ///< there is nothing to look for
  std::map<std::pair<int, OutputStream>, LineSplitter> lines_;
  std::set<int> found_;  ///< the policies that have matched in this attempt
};

}  // namespace train
