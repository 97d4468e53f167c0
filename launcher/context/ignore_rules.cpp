// SPDX-License-Identifier: Apache-2.0
#include "launcher/context/ignore_rules.hpp"

#include <algorithm>

namespace train {

namespace {

constexpr std::size_t most_lines = 10'000;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// `.git` is a file in worktrees and submodules.
constexpr std::string_view never_wanted =
    "__pycache__/\n*.py[co]\n*$py.class\n.git\n.vscode/\n.idea/\n.mypy_cache/\n"
    ".detignore\n.trainignore\n";

}  // namespace

IgnoreRules::IgnoreRules() { add(never_wanted, ""); }

bool IgnoreRules::add(std::string_view text, std::string_view folder) {
  return add_to(rules_, text, folder);
}

bool IgnoreRules::add_last(std::string_view text) { return add_to(last_rules_, text, ""); }

bool IgnoreRules::add_to(std::vector<Rule>& rules, std::string_view text, std::string_view folder) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const std::string prefix = folder.empty() ? "" : std::string(folder) + "/";
  for (std::size_t lines = 0; !text.empty(); ++lines) {
    if (lines == most_lines) return false;
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (auto pattern = IgnorePattern::parse(text.substr(0, end)))
      rules.push_back({prefix, std::move(*pattern)});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

bool IgnoreRules::ignores(std::string_view path, bool is_folder) const {
  for (const std::vector<Rule>* rules : {&last_rules_, &rules_})
    for (auto rule = rules->rbegin(); rule != rules->rend(); ++rule)
      if (path.starts_with(rule->folder) &&
          rule->pattern.matches(path.substr(rule->folder.size()), is_folder))
        return !rule->pattern.is_negated();
  return false;
}

}  // namespace train
