// SPDX-License-Identifier: Apache-2.0
#include "launcher/capacity/whole_hosts.hpp"

#include <deque>
#include <limits>

namespace train {
namespace {

constexpr int unreachable = std::numeric_limits<int>::max() / 2;

// fewest[s] becomes the fewest hosts with sum s if those of `group` may also be used, and used[s]
// how many of them. A sliding minimum per remainder keeps this linear in the sum.
void add_group(const SizeGroup& group, std::vector<int>& fewest, std::vector<int>& used) {
  const int largest = static_cast<int>(fewest.size()) - 1;
  for (int remainder = 0; remainder < group.size && remainder <= largest; ++remainder) {
    std::deque<std::pair<int, int>> window;  // (step, hosts before it - step), values ascending
    for (int step = 0; remainder + step * group.size <= largest; ++step) {
      const int sum = remainder + step * group.size;
      const int value = fewest[sum] - step;
      // Of equal values the later step is kept: it uses fewer hosts of this smaller size.
      while (!window.empty() && window.back().second >= value) window.pop_back();
      window.emplace_back(step, value);
      while (window.front().first < step - group.hosts) window.pop_front();
      const auto [from, best] = window.front();
      const bool is_reachable = best + from < unreachable;
      used[sum] = is_reachable ? step - from : 0;
      fewest[sum] = is_reachable ? best + step : unreachable;
    }
  }
}

// Stores for each sum the group with which it is first reached, and how many of its hosts that
// takes: earlier groups reach the rest, so one number per sum is enough.
std::optional<std::vector<int>> any_hosts_that_sum(const std::vector<SizeGroup>& groups, int sum) {
  constexpr int no_group = -1;
  std::vector<int> group_of(static_cast<std::size_t>(sum) + 1, no_group);
  std::vector<int> count_of(group_of.size());
  group_of[0] = 0;
  for (std::size_t g = 0; g < groups.size() && group_of[sum] == no_group; ++g) {
    const SizeGroup& group = groups[g];
    for (int reached = group.size; reached <= sum; ++reached) {
      const int from = reached - group.size;
      if (group_of[reached] != no_group || group_of[from] == no_group) continue;
      const bool is_own = group_of[from] == static_cast<int>(g) && count_of[from] > 0;
      const int count = is_own ? count_of[from] + 1 : 1;
      if (count > group.hosts) continue;
      group_of[reached] = static_cast<int>(g);
      count_of[reached] = count;
    }
  }
  if (group_of[sum] == no_group) return std::nullopt;
  std::vector<int> taken(groups.size());
  while (sum > 0) {
    const int group = group_of[sum];
    taken[group] += count_of[sum];
    sum -= count_of[sum] * groups[group].size;
  }
  return taken;
}

}  // namespace

WholeHosts whole_hosts(const std::vector<Room>& rooms) {
  WholeHosts groups;
  for (std::size_t i = 0; i < rooms.size(); ++i)
    if (rooms[i].is_whole()) groups[rooms[i].fill].push_back(i);
  return groups;
}

std::vector<SizeGroup> sizes_of(const WholeHosts& groups) {
  std::vector<SizeGroup> sizes;
  for (const auto& [size, members] : groups)
    sizes.push_back({size, static_cast<int>(members.size())});
  return sizes;
}

bool makes_up(int workers, int size, std::int64_t hosts) {
  return workers % size == 0 && hosts * size >= workers;
}

std::optional<WorkerCounts> on_equal_hosts(const WholeHosts& groups, std::size_t rooms,
                                           int workers) {
  for (const auto& [size, members] : groups) {
    if (!makes_up(workers, size, static_cast<std::int64_t>(members.size()))) continue;
    WorkerCounts counts(rooms);
    for (int i = 0; i < workers / size; ++i) counts[members[i]] = size;
    return counts;
  }
  return std::nullopt;
}

std::optional<WorkerCounts> on_mixed_hosts(const WholeHosts& groups, std::size_t rooms,
                                           int workers) {
  const auto taken = hosts_that_sum(sizes_of(groups), workers);
  if (!taken) return std::nullopt;
  WorkerCounts counts(rooms);
  std::size_t group = 0;
  for (const auto& [size, members] : groups) {
    for (int i = 0; i < (*taken)[group]; ++i) counts[members[i]] = size;
    ++group;
  }
  return counts;
}

bool is_searchable(const std::vector<SizeGroup>& groups, int sum) {
  return sum >= 0 && groups.size() * (static_cast<std::size_t>(sum) + 1) <= most_search_steps;
}

std::optional<std::vector<int>> hosts_that_sum(const std::vector<SizeGroup>& groups, int sum) {
  if (groups.empty() || !is_searchable(groups, sum)) return std::nullopt;
  if (groups.size() * (static_cast<std::size_t>(sum) + 1) > most_search_cells)
    return any_hosts_that_sum(groups, sum);
  std::vector<int> fewest(static_cast<std::size_t>(sum) + 1, unreachable);
  fewest[0] = 0;
  std::vector<std::vector<int>> used;
  for (const SizeGroup& group : groups) {
    used.emplace_back(fewest.size());
    add_group(group, fewest, used.back());
  }
  if (fewest[sum] >= unreachable) return std::nullopt;
  std::vector<int> taken(groups.size());
  for (std::size_t i = groups.size(); i-- > 0;) {
    taken[i] = used[i][sum];
    sum -= taken[i] * groups[i].size;
  }
  return taken;
}

std::vector<bool> sums_of_hosts(const std::vector<SizeGroup>& groups, int largest) {
  if (!is_searchable(groups, largest)) return {};
  std::vector<bool> reached(static_cast<std::size_t>(largest) + 1);
  reached[0] = true;
  std::vector<int> used(reached.size());
  for (const SizeGroup& group : groups) {
    // The fewest hosts of this group in addition to what earlier groups reach.
    for (int sum = 0; sum <= largest; ++sum) {
      used[sum] = 0;
      if (reached[sum] || sum < group.size || !reached[sum - group.size]) continue;
      if (used[sum - group.size] == group.hosts) continue;
      used[sum] = used[sum - group.size] + 1;
      reached[sum] = true;
    }
  }
  return reached;
}

}  // namespace train
