// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// What is wrong with a regular expression, which must be one of RE2's; nothing when it is right.
std::optional<std::string> pattern_fault(const std::string& pattern);

/// Regular expressions that are looked for in lines, all of them in one pass. Time is linear in the
/// length of a line, and memory bounded, whatever they are.
class LinePatterns {
 public:
  /// None of them has a fault.
  explicit LinePatterns(const std::vector<std::string>& patterns);
  ~LinePatterns();
  LinePatterns(const LinePatterns&) = delete;
  LinePatterns& operator=(const LinePatterns&) = delete;

  /// The indices of those that some part of the line matches, ascending. Bytes that are no UTF-8
  /// match nothing.
  std::vector<int> found_in(std::string_view line) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace train
