// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/policies.hpp"

#include <algorithm>
#include <limits>

namespace train {
namespace {

// A room may still be unlimited while the constraint that limits it is not looked at.
std::int64_t free_after(const Room& room, int workers) {
  std::int64_t taken = 0;
  if (__builtin_mul_overflow(room.use, static_cast<std::int64_t>(workers), &taken))
    return std::numeric_limits<std::int64_t>::min();
  return room.free - taken;
}

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

}  // namespace

std::ptrdiff_t hosts_used(const WorkerCounts& counts) {
  return std::count_if(counts.begin(), counts.end(), [](int workers) { return workers > 0; });
}

std::optional<WorkerCounts> on_one_host(const std::vector<Room>& rooms, int workers) {
  const auto host = best_fit(rooms, workers, all_of(rooms));
  if (!host) return std::nullopt;
  WorkerCounts counts(rooms.size());
  counts[*host] = workers;
  return counts;
}

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

// The fewest hosts are the roomiest ones; only the last of them is not full, and any host that
// takes the rest will do in its place.
std::optional<WorkerCounts> packed(const std::vector<Room>& rooms, int workers) {
  std::vector<std::size_t> order = all_of(rooms);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return rooms[a].workers > rooms[b].workers;
  });
  WorkerCounts counts(rooms.size());
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

std::optional<WorkerCounts> spread_out(const std::vector<Room>& rooms, int workers, int per_host) {
  WorkerCounts counts(rooms.size());
  std::vector<std::size_t> open = all_of(rooms);
  for (int round = 0; workers > 0 && round < per_host; ++round) {
    std::erase_if(open, [&](std::size_t i) { return rooms[i].workers <= round; });
    if (open.empty()) break;
    for (std::size_t i = 0; i < open.size() && workers > 0; ++i, --workers) ++counts[open[i]];
  }
  if (workers > 0) return std::nullopt;
  return counts;
}

}  // namespace train
