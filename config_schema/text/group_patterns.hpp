// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// The names of the groups of a regular expression, `(?P<name>...)`, in their order. It must be a
/// valid RE2 expression (`pattern_fault`).
std::vector<std::string> group_names(const std::string& pattern);

/// Regular expressions with named groups that extract parts of lines. Time is linear in the length
/// of a line, and memory is bounded, for all expressions.
class GroupPatterns {
 public:
  /// A group that has taken part in a match.
  struct Group {
    std::string name;
    std::string_view text;  ///< part of the line

    bool operator==(const Group&) const = default;
  };

  /// All patterns must be valid.
  explicit GroupPatterns(const std::vector<std::string>& patterns);
  ~GroupPatterns();
  GroupPatterns(const GroupPatterns&) = delete;
  GroupPatterns& operator=(const GroupPatterns&) = delete;

  /// The named groups of the first match of each pattern in this line, in the order of the patterns
  /// and of the groups in them.
  std::vector<Group> found_in(std::string_view line) const;

 private:
  struct Compiled;
  std::vector<Compiled> compiled_;
};

}  // namespace train
