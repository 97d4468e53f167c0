// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// The names of the groups of a regular expression, `(?P<name>...)`, in the order in which they
/// stand. It is one of RE2's, without a fault (`pattern_fault`).
std::vector<std::string> group_names(const std::string& pattern);

/// Regular expressions with named groups, of which is asked what they take out of lines. Time is
/// linear in the length of a line, and memory bounded, whatever they are.
class GroupPatterns {
 public:
  /// A group that has taken part in a match.
  struct Group {
    std::string name;
    std::string_view text;  ///< of the line

    bool operator==(const Group&) const = default;
  };

  /// None of them has a fault.
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
