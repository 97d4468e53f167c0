// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/policies.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <unordered_map>

#include "launcher/capacity/whole_hosts.hpp"

namespace train {
namespace {

// The product may overflow: a room is unlimited until the constraint that limits it is applied.
std::int64_t free_after(const Room& room, int workers) {
  std::int64_t taken = 0;
  if (__builtin_mul_overflow(room.use, static_cast<std::int64_t>(workers), &taken))
    return std::numeric_limits<std::int64_t>::min();
  return room.free - taken;
}

// Among `candidates`, the room where `workers` fit and the fewest slots remain; ties: the first.
std::optional<std::size_t> best_fit(const std::vector<Room>& rooms, int workers,
                                    const std::vector<std::size_t>& candidates) {
  std::optional<std::size_t> best;
  for (const std::size_t i : candidates) {
    if (rooms[i].workers < workers) continue;
    if (!best || free_after(rooms[i], workers) < free_after(rooms[*best], workers)) best = i;
  }
  return best;
}

std::optional<std::size_t> first_fit(const std::vector<Room>& rooms, int workers) {
  const auto first = std::find_if(rooms.begin(), rooms.end(),
                                  [&](const Room& room) { return room.workers >= workers; });
  if (first == rooms.end()) return std::nullopt;
  return static_cast<std::size_t>(first - rooms.begin());
}

std::vector<std::size_t> all_of(const std::vector<Room>& rooms) {
  std::vector<std::size_t> indices(rooms.size());
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = i;
  return indices;
}

// Pack: the hosts with the most room give the fewest hosts; only the last is not full, and any host
// with room for the rest can replace it.
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

// Fills each host before the next, in file order.
std::optional<WorkerCounts> filled_in_order(const std::vector<Room>& rooms, int workers) {
  WorkerCounts counts(rooms.size());
  for (std::size_t i = 0; i < rooms.size() && workers > 0; ++i) {
    counts[i] = std::clamp(rooms[i].workers, 0, workers);
    workers -= counts[i];
  }
  if (workers > 0) return std::nullopt;
  return counts;
}

// One worker per host and round, in order; at most `per_host` rounds.
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

// Chooses the hosts of a trial whose first host, in file order, also has the trainer.
class BesideTrainer {
 public:
  BesideTrainer(const std::vector<Room>& rooms, int workers) : rooms_(rooms), workers_(workers) {
    // Among equal hosts only the earliest is tried: it leaves the most hosts after it.
    std::set<std::tuple<int, int, int, int>> seen;
    for (std::size_t i = 0; i < rooms.size(); ++i) {
      const Room& room = rooms[i];
      if (room.beside_trainer < 1) continue;
      const bool is_new =
          seen.emplace(room.workers, room.beside_trainer, room.fill, room.fill_beside_trainer)
              .second;
      if (is_new) firsts_.push_back(i);
    }
  }

  std::optional<WorkerCounts> on_one(OneHost choice) const {
    std::vector<Room> with_trainer = rooms_;
    for (Room& room : with_trainer) room.workers = std::max(0, room.beside_trainer);
    return on_one_host(with_trainer, workers_, choice);
  }

  std::optional<WorkerCounts> in_order() const {
    return from_first(
        [&](const std::vector<Room>& open) { return filled_in_order(open, workers_); });
  }

  std::optional<WorkerCounts> on_whole(bool allow_heterogeneous) const {
    if (auto counts = on_equal()) return counts;
    return allow_heterogeneous ? on_mixed() : std::nullopt;
  }

  std::optional<WorkerCounts> on_fewest() const {
    return fewest([&](std::size_t first) {
      const int here = std::min(workers_, rooms_[first].beside_trainer);
      return joined(first, here,
                    [&](const std::vector<Room>& later) { return packed(later, workers_ - here); });
    });
  }

  std::optional<WorkerCounts> spread(int per_host) const {
    return from_first(
        [&](const std::vector<Room>& open) { return spread_out(open, workers_, per_host); });
  }

 private:
  // The earliest first host leaves the most hosts after it.
  template <class Place>
  std::optional<WorkerCounts> from_first(Place place) const {
    for (const std::size_t first : firsts_) {
      std::vector<Room> open = rooms_from(first);
      open[first].workers = rooms_[first].beside_trainer;
      if (auto counts = place(open)) return counts;
    }
    return std::nullopt;
  }

  // The earliest first host of the largest size that works.
  std::optional<WorkerCounts> on_equal() const {
    for (const auto& [size, members] : whole_hosts(rooms_)) {
      for (const std::size_t first : firsts_) {
        const Room& room = rooms_[first];
        if (room.fill != size || !is_filled(room)) continue;
        const int rest = workers_ - room.fill_beside_trainer;
        const auto after = std::upper_bound(members.begin(), members.end(), first);
        if (rest < 0 || !makes_up(rest, size, members.end() - after)) continue;
        WorkerCounts counts(rooms_.size());
        counts[first] = room.fill_beside_trainer;
        for (int i = 0; i < rest / size; ++i) counts[*(after + i)] = size;
        return counts;
      }
    }
    return std::nullopt;
  }

  std::optional<WorkerCounts> on_mixed() const {
    return fewest([&](std::size_t first) -> std::optional<WorkerCounts> {
      const Room& room = rooms_[first];
      const int rest = workers_ - room.fill_beside_trainer;
      if (!is_filled(room) || rest < 0) return std::nullopt;
      return joined(first, room.fill_beside_trainer, [&](const std::vector<Room>& later) {
        return on_mixed_hosts(whole_hosts(later), later.size(), rest);
      });
    });
  }

  static bool is_filled(const Room& room) {
    return room.fill_beside_trainer > 0 && room.beside_trainer >= room.fill_beside_trainer;
  }

  std::vector<Room> rooms_from(std::size_t begin) const {
    std::vector<Room> rooms(rooms_.size());
    std::copy(rooms_.begin() + static_cast<std::ptrdiff_t>(begin), rooms_.end(),
              rooms.begin() + static_cast<std::ptrdiff_t>(begin));
    return rooms;
  }

  // `here` workers on the first host, and the others on the hosts after it, as returned by `place`.
  template <class Place>
  std::optional<WorkerCounts> joined(std::size_t first, int here, Place place) const {
    if (here == workers_) {
      WorkerCounts alone(rooms_.size());
      alone[first] = here;
      return alone;
    }
    auto counts = place(rooms_from(first + 1));
    if (counts) (*counts)[first] = here;
    return counts;
  }

  // No choice uses fewer hosts than the workers without a trainer, so the search stops at that
  // number.
  template <class Choose>
  std::optional<WorkerCounts> fewest(Choose choose) const {
    std::optional<WorkerCounts> best;
    std::ptrdiff_t best_hosts = 0;
    const auto alone = packed(rooms_, workers_);
    const std::ptrdiff_t least = alone ? hosts_used(*alone) : 0;
    for (const std::size_t first : firsts_) {
      if (best && best_hosts <= least) break;
      auto counts = choose(first);
      if (!counts) continue;
      const std::ptrdiff_t hosts = hosts_used(*counts);
      if (best && hosts >= best_hosts) continue;
      best = std::move(counts);
      best_hosts = hosts;
    }
    return best;
  }

  const std::vector<Room>& rooms_;
  int workers_;
  std::vector<std::size_t> firsts_;  // the earliest of each kind, in file order
};

// Chooses the hosts of a trial without a trainer.
class OnHosts {
 public:
  OnHosts(const std::vector<Room>& rooms, int workers) : rooms_(rooms), workers_(workers) {}

  std::optional<WorkerCounts> on_one(OneHost choice) const {
    return on_one_host(rooms_, workers_, choice);
  }
  std::optional<WorkerCounts> in_order() const { return filled_in_order(rooms_, workers_); }
  std::optional<WorkerCounts> on_fewest() const { return packed(rooms_, workers_); }
  std::optional<WorkerCounts> spread(int per_host) const {
    return spread_out(rooms_, workers_, per_host);
  }
  std::optional<WorkerCounts> on_whole(bool allow_heterogeneous) const {
    const WholeHosts hosts = whole_hosts(rooms_);
    if (auto counts = on_equal_hosts(hosts, rooms_.size(), workers_)) return counts;
    if (allow_heterogeneous) return on_mixed_hosts(hosts, rooms_.size(), workers_);
    return std::nullopt;
  }

 private:
  const std::vector<Room>& rooms_;
  int workers_;
};

}  // namespace

std::ptrdiff_t hosts_used(const WorkerCounts& counts) {
  return std::count_if(counts.begin(), counts.end(), [](int workers) { return workers > 0; });
}

std::optional<WorkerCounts> on_one_host(const std::vector<Room>& rooms, int workers,
                                        OneHost choice) {
  const auto host = choice == OneHost::first ? first_fit(rooms, workers)
                                             : best_fit(rooms, workers, all_of(rooms));
  if (!host) return std::nullopt;
  WorkerCounts counts(rooms.size());
  counts[*host] = workers;
  return counts;
}

PlacementRule rule_of(const ExperimentConfig& experiment) {
  return {.policy = experiment.placement,
          .is_single_node = experiment.is_single_node,
          .allow_heterogeneous = experiment.allow_heterogeneous,
          .has_trainer = !experiment.trainer.empty()};
}

std::optional<WorkerCounts> choose_hosts(const std::vector<Room>& rooms, int workers,
                                         const PlacementRule& rule) {
  if (rule.has_trainer) return place_by_rule(rule, workers, BesideTrainer(rooms, workers));
  return place_by_rule(rule, workers, OnHosts(rooms, workers));
}

std::vector<TpuSliceHosts> slices_of(const HostInventory& inventory) {
  std::vector<TpuSliceHosts> slices;
  std::unordered_map<std::string, std::size_t> index_of;
  for (std::size_t i = 0; i < inventory.hosts.size(); ++i) {
    const Host& host = inventory.hosts[i];
    const int index = static_cast<int>(i);
    if (host.slice.empty()) {
      slices.push_back({host.name, {index}});
      continue;
    }
    const auto [found, is_new] = index_of.try_emplace(host.slice, slices.size());
    if (is_new) slices.push_back({host.slice, {}});
    slices[found->second].hosts.push_back(index);
  }
  return slices;
}

bool is_whole_slice(const TpuSliceHosts& slice, const SliceNeeds& needs,
                    const std::vector<Room>& rooms) {
  if (static_cast<int>(slice.hosts.size()) != needs.hosts) return false;
  return std::all_of(slice.hosts.begin(), slice.hosts.end(), [&](int host) {
    const Room& room = rooms[static_cast<std::size_t>(host)];
    return room.workers >= needs.workers_per_host &&
           room.free == Quantity::of(needs.chips_per_host).parts();
  });
}

std::optional<WorkerCounts> choose_slices(const std::vector<TpuSliceHosts>& slices,
                                          const SliceNeeds& needs, const std::vector<Room>& rooms,
                                          const PlacementRule& rule) {
  if (rule.is_one_host() && needs.slices * needs.hosts > 1) return std::nullopt;
  std::vector<const TpuSliceHosts*> whole;
  for (const TpuSliceHosts& slice : slices)
    if (is_whole_slice(slice, needs, rooms)) whole.push_back(&slice);
  auto first = whole.begin();
  if (rule.has_trainer)
    first = std::find_if(whole.begin(), whole.end(), [&](const TpuSliceHosts* slice) {
      return rooms[static_cast<std::size_t>(slice->hosts.front())].beside_trainer >=
             needs.workers_per_host;
    });
  if (whole.end() - first < needs.slices) return std::nullopt;
  WorkerCounts counts(rooms.size());
  for (auto slice = first; slice != first + needs.slices; ++slice)
    for (const int host : (*slice)->hosts)
      counts[static_cast<std::size_t>(host)] = needs.workers_per_host;
  return counts;
}

}  // namespace train
