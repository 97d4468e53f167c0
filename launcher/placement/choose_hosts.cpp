// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/choose_hosts.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "launcher/placement/capacity.hpp"
#include "launcher/placement/whole_hosts.hpp"

namespace train {
namespace {

using Counts = std::vector<int>;
using Groups = std::map<int, std::vector<std::size_t>, std::greater<>>;

std::int64_t free_after(const Room& room, int workers) { return room.free - room.use * workers; }

// Of `candidates`, the room where `workers` fit and the fewest slots stay free; ties: the first.
std::optional<std::size_t> best_fit(const std::vector<Room>& rooms, int workers,
                                    const std::vector<std::size_t>& candidates) {
  std::optional<std::size_t> best;
  for (const std::size_t i : candidates) {
    if (rooms[i].workers < workers) continue;
    if (!best || free_after(rooms[i], workers) < free_after(rooms[*best], workers)) best = i;
  }
  return best;
}

std::vector<std::size_t> all_of(const std::vector<Room>& rooms) {
  std::vector<std::size_t> indices(rooms.size());
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = i;
  return indices;
}

std::optional<Counts> on_one_host(const std::vector<Room>& rooms, int workers) {
  const auto host = best_fit(rooms, workers, all_of(rooms));
  if (!host) return std::nullopt;
  Counts counts(rooms.size());
  counts[*host] = workers;
  return counts;
}

Groups whole_hosts(const std::vector<Room>& rooms) {
  Groups groups;
  for (std::size_t i = 0; i < rooms.size(); ++i)
    if (rooms[i].is_whole()) groups[rooms[i].fill].push_back(i);
  return groups;
}

std::vector<SizeGroup> sizes_of(const Groups& groups) {
  std::vector<SizeGroup> sizes;
  for (const auto& [size, members] : groups)
    sizes.push_back({size, static_cast<int>(members.size())});
  return sizes;
}

bool makes_up(int workers, int size, std::int64_t hosts) {
  return workers % size == 0 && hosts * size >= workers;
}

std::optional<Counts> on_equal_hosts(const Groups& groups, std::size_t rooms, int workers) {
  for (const auto& [size, members] : groups) {
    if (!makes_up(workers, size, static_cast<std::int64_t>(members.size()))) continue;
    Counts counts(rooms);
    for (int i = 0; i < workers / size; ++i) counts[members[i]] = size;
    return counts;
  }
  return std::nullopt;
}

std::optional<Counts> on_mixed_hosts(const Groups& groups, std::size_t rooms, int workers) {
  const auto taken = hosts_that_sum(sizes_of(groups), workers);
  if (!taken) return std::nullopt;
  Counts counts(rooms);
  std::size_t group = 0;
  for (const auto& [size, members] : groups) {
    for (int i = 0; i < (*taken)[group]; ++i) counts[members[i]] = size;
    ++group;
  }
  return counts;
}

std::optional<Counts> by_determined(const std::vector<Room>& rooms, int workers,
                                    bool allow_heterogeneous) {
  if (auto counts = on_one_host(rooms, workers)) return counts;
  const Groups groups = whole_hosts(rooms);
  if (auto counts = on_equal_hosts(groups, rooms.size(), workers)) return counts;
  if (allow_heterogeneous) return on_mixed_hosts(groups, rooms.size(), workers);
  return std::nullopt;
}

// The fewest hosts are the roomiest ones; only the last of them is not full, and any host that
// takes the rest will do in its place.
std::optional<Counts> packed(const std::vector<Room>& rooms, int workers) {
  std::vector<std::size_t> order = all_of(rooms);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return rooms[a].workers > rooms[b].workers;
  });
  Counts counts(rooms.size());
  auto next = order.begin();
  for (; next != order.end() && rooms[*next].workers < workers; ++next) {
    counts[*next] = rooms[*next].workers;
    workers -= rooms[*next].workers;
  }
  std::vector<std::size_t> rest(next, order.end());
  std::sort(rest.begin(), rest.end());
  const auto last = best_fit(rooms, workers, rest);
  if (!last) return std::nullopt;
  counts[*last] = workers;
  return counts;
}

std::optional<Counts> spread_out(const std::vector<Room>& rooms, int workers, int per_host) {
  Counts counts(rooms.size());
  std::vector<std::size_t> open = all_of(rooms);
  for (int round = 0; workers > 0 && round < per_host; ++round) {
    std::erase_if(open, [&](std::size_t i) { return rooms[i].workers <= round; });
    if (open.empty()) break;
    for (std::size_t i = 0; i < open.size() && workers > 0; ++i, --workers) ++counts[open[i]];
  }
  if (workers > 0) return std::nullopt;
  return counts;
}

}  // namespace

PlacementRule rule_of(const ExperimentConfig& experiment) {
  return {.policy = experiment.placement,
          .is_single_node = experiment.is_single_node,
          .allow_heterogeneous = experiment.allow_heterogeneous};
}

std::optional<std::vector<int>> choose_hosts(const std::vector<Room>& rooms, int workers,
                                             const PlacementRule& rule) {
  // strict_spread puts one worker on a host; with one host allowed that is one worker in all.
  const bool is_strict_spread = rule.policy == PlacementPolicy::strict_spread;
  if (is_strict_spread && rule.is_single_node && workers > 1) return std::nullopt;
  if (rule.is_one_host()) return on_one_host(rooms, workers);
  switch (rule.policy) {
    case PlacementPolicy::pack:
      return packed(rooms, workers);
    case PlacementPolicy::spread:
      return spread_out(rooms, workers, unlimited_workers);
    case PlacementPolicy::strict_spread:
      return spread_out(rooms, workers, 1);
    case PlacementPolicy::strict_pack:
    case PlacementPolicy::automatic:
      break;
  }
  return by_determined(rooms, workers, rule.allow_heterogeneous);
}

WhatFits::WhatFits(const std::vector<Room>& rooms, const PlacementRule& rule) {
  std::int64_t sum = 0;
  std::int64_t hosts = 0;
  for (const Room& room : rooms) {
    on_one_host_ = std::max(on_one_host_, room.workers);
    sum += room.workers;
    hosts += room.workers > 0 ? 1 : 0;
  }
  most_ = static_cast<int>(std::min<std::int64_t>(sum, unlimited_workers));
  if (rule.policy == PlacementPolicy::strict_spread)
    most_ = rule.is_single_node ? std::min(1, on_one_host_) : static_cast<int>(hosts);
  else if (rule.is_one_host())
    most_ = on_one_host_;
  is_monotone_ = rule.is_one_host() || rule.policy != PlacementPolicy::automatic;
  if (is_monotone_) return;
  const std::vector<SizeGroup> groups = sizes_of(whole_hosts(rooms));
  std::int64_t whole = 0;
  for (const SizeGroup& group : groups) {
    sizes_.push_back({group.size, group.hosts});
    whole += static_cast<std::int64_t>(group.size) * group.hosts;
  }
  most_ = static_cast<int>(
      std::min<std::int64_t>(std::max<std::int64_t>(whole, on_one_host_), unlimited_workers));
  if (rule.allow_heterogeneous)
    reached_ = sums_of_hosts(groups, static_cast<int>(std::min<std::int64_t>(whole, most_)));
}

bool WhatFits::fits(int workers) const {
  if (workers < 1 || workers > most_) return false;
  if (is_monotone_ || workers <= on_one_host_) return true;
  const bool on_equal = std::any_of(sizes_.begin(), sizes_.end(), [&](const Size& size) {
    return makes_up(workers, size.workers, size.hosts);
  });
  if (on_equal) return true;
  return static_cast<std::size_t>(workers) < reached_.size() && reached_[workers];
}

}  // namespace train
