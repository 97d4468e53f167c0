// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/rank_list.hpp"

#include <fmt/format.h>

#include "config_schema/text/text.hpp"

namespace train {

namespace {

constexpr int highest_rank = (1 << 20) - 1;

// "4" or "4-7".
bool add_range(std::string_view text, std::set<int>& ranks) {
  const std::size_t dash = text.find('-');
  const auto first = whole_number(text.substr(0, dash), 0, highest_rank);
  const auto last =
      dash == text.npos ? first : whole_number(text.substr(dash + 1), 0, highest_rank);
  if (!first || !last || *last < *first) return false;
  for (int rank = *first; rank <= *last; ++rank) ranks.insert(ranks.end(), rank);
  return true;
}

}  // namespace

std::optional<std::set<int>> parse_rank_list(std::string_view text) {
  std::set<int> ranks;
  for (const std::string_view part : split(text, ','))
    if (!add_range(part, ranks)) return std::nullopt;
  return ranks;
}

std::string rank_list_text(const std::vector<int>& ranks) {
  constexpr int most_parts = 6;
  std::string text;
  int parts = 0;
  for (auto first = ranks.begin(); first != ranks.end(); ++parts) {
    if (parts == most_parts) return text + fmt::format(" and {} more", ranks.end() - first);
    auto last = first;
    while (last + 1 != ranks.end() && *(last + 1) == *last + 1) ++last;
    if (parts > 0) text += ',';
    text += first == last ? fmt::format("{}", *first) : fmt::format("{}-{}", *first, *last);
    first = last + 1;
  }
  return text;
}

}  // namespace train
