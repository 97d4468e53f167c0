// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace train {

/// Tags open and close in pairs, and nothing that markup is made of is left in texts.
inline bool is_well_formed(std::string_view svg) {
  std::vector<std::string_view> open;
  std::size_t at = 0;
  while (true) {
    const std::size_t begin = svg.find_first_of("<>", at);
    if (begin == svg.npos) break;
    const std::size_t end = svg.find_first_of("<>", begin + 1);
    if (svg[begin] != '<' || end == svg.npos || svg[end] != '>') return false;
    std::string_view tag = svg.substr(begin + 1, end - begin - 1);
    const bool is_end = tag.starts_with('/');
    if (is_end) tag.remove_prefix(1);
    const std::string_view name =
        tag.substr(0, tag.find_first_not_of("abcdefghijklmnopqrstuvwxyz"));
    if (name.empty() || (is_end && (open.empty() || open.back() != name))) return false;
    if (is_end)
      open.pop_back();
    else if (!tag.ends_with('/'))
      open.push_back(name);
    at = end + 1;
  }
  return open.empty() && at > 0 && svg.substr(at) == "\n";
}

}  // namespace train
