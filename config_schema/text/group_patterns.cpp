// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/group_patterns.hpp"

#include <re2/re2.h>

#include <cassert>
#include <map>

#include "config_schema/text/quiet_re2.hpp"

namespace train {

struct GroupPatterns::Compiled {
  std::unique_ptr<RE2> pattern;
  std::map<int, std::string> names;  ///< by the number of the group
};

std::vector<std::string> group_names(const std::string& pattern) {
  const RE2 compiled(pattern, quietly());
  std::vector<std::string> names;
  for (const auto& [number, name] : compiled.CapturingGroupNames()) names.push_back(name);
  return names;
}

GroupPatterns::GroupPatterns(const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    Compiled compiled{std::make_unique<RE2>(pattern, quietly()), {}};
    assert(compiled.pattern->ok());
    compiled.names = compiled.pattern->CapturingGroupNames();
    compiled_.push_back(std::move(compiled));
  }
}

GroupPatterns::~GroupPatterns() = default;

std::vector<GroupPatterns::Group> GroupPatterns::found_in(std::string_view line) const {
  std::vector<Group> found;
  const re2::StringPiece text(line.data(), line.size());
  for (const auto& [pattern, names] : compiled_) {
    if (names.empty()) continue;
    std::vector<re2::StringPiece> groups(static_cast<std::size_t>(names.rbegin()->first) + 1);
    const bool is_match = pattern->Match(text, 0, text.size(), RE2::UNANCHORED, groups.data(),
                                         static_cast<int>(groups.size()));
    if (!is_match) continue;
    for (const auto& [number, name] : names)
      if (const auto& group = groups[static_cast<std::size_t>(number)]; group.data() != nullptr)
        found.push_back({name, {group.data(), group.size()}});
  }
  return found;
}

}  // namespace train
