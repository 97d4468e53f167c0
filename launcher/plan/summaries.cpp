// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/summaries.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "config_schema/hosts/host_fold.hpp"

namespace train {

std::string list_amounts(const std::vector<HostAmount>& amounts) {
  constexpr std::size_t few = 6;
  std::string text;
  if (amounts.size() <= few) {
    for (const HostAmount& entry : amounts) {
      if (!text.empty()) text += ", ";
      text += fmt::format("{} {}", entry.host, entry.amount);
    }
    return text;
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  std::unordered_map<std::string, std::size_t> group_of;
  for (const HostAmount& entry : amounts) {
    const auto [found, is_new] = group_of.try_emplace(entry.amount, groups.size());
    if (is_new) groups.push_back({entry.amount, {}});
    groups[found->second].second.push_back(entry.host);
  }
  constexpr std::size_t most_groups = 4;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < groups.size() && i < most_groups; ++i) {
    const auto& [amount, names] = groups[i];
    if (i > 0) text += ", ";
    text +=
        fmt::format("{} {}{}", summarize_hosts(names, 3), amount, names.size() > 1 ? " each" : "");
    shown += names.size();
  }
  if (shown < amounts.size()) text += fmt::format(", and {} more hosts", amounts.size() - shown);
  return text;
}

std::string fold_ranks(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(ranks[i]);
    if (last > i) text += (last == i + 1 ? "," : "-") + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

std::string ranks_were(const std::vector<int>& ranks) {
  return ranks.size() == 1 ? "rank " + fold_ranks(ranks) + " was"
                           : "ranks " + fold_ranks(ranks) + " were";
}

}  // namespace train
