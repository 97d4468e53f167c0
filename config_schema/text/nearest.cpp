// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/text/text.hpp"

namespace train {

int edit_distance(std::string_view from, std::string_view to, int limit) {
  const auto difference = static_cast<long>(from.size()) - static_cast<long>(to.size());
  if (difference > limit || -difference > limit) return limit + 1;
  std::vector<int> before_last(to.size() + 1);
  std::vector<int> last(to.size() + 1);
  std::vector<int> row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= from.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const int replaced = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool is_swap = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (is_swap) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    if (*std::min_element(row.begin(), row.end()) > limit) return limit + 1;
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return std::min(last[to.size()], limit + 1);
}

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  constexpr std::size_t longest = 64;  // no key is that long: a text went astray
  if (word.empty() || word.size() > longest) return std::nullopt;
  const auto plain = [](std::string_view text) {
    std::string lower = to_lower(text);
    std::replace(lower.begin(), lower.end(), '-', '_');
    return lower;
  };
  const std::string wanted = plain(word);
  int best = std::max(1, static_cast<int>(word.size()) / 3);
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    const int distance = edit_distance(wanted, plain(candidate), best);
    if (distance > best || (found && distance == best)) continue;
    best = distance;
    found = candidate;
  }
  if (found || word.size() < 4) return found;
  for (const std::string& candidate : candidates)
    if (plain(candidate).substr(0, wanted.size()) == wanted) return candidate;
  return std::nullopt;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const auto found = nearest(word, candidates);
  return found ? fmt::format("did you mean '{}'?", *found) : std::string();
}

}  // namespace train
