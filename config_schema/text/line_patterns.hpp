// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// What is wrong with an RE2 regular expression; nothing if it is valid.
std::optional<std::string> pattern_fault(const std::string& pattern);

/// Regular expressions that are searched for in lines, all of them in one pass. Time is linear in
/// the length of a line, and memory is bounded, for all expressions.
class LinePatterns {
 public:
  /// All patterns must be valid.
  explicit LinePatterns(const std::vector<std::string>& patterns);
  ~LinePatterns();
  LinePatterns(const LinePatterns&) = delete;
  LinePatterns& operator=(const LinePatterns&) = delete;

  /// The indices of the patterns that match some part of the line, ascending. Bytes that are not
  /// UTF-8 match nothing.
  std::vector<int> found_in(std::string_view line) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace train
