// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <tuple>

#include "launcher/placement/capacity.hpp"
#include "launcher/placement/policies.hpp"

namespace train {
namespace {

// Chooses the hosts of a trial whose first host, in file order, has the trainer as well.
class BesideTrainer {
 public:
  BesideTrainer(const std::vector<Room>& rooms, int workers) : rooms_(rooms), workers_(workers) {
    // Of hosts that look alike the earliest leaves the most hosts after it: whatever a later one
    // allows, it allows too.
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

  std::optional<WorkerCounts> on_one() const {
    std::vector<Room> with_trainer = rooms_;
    for (Room& room : with_trainer) room.workers = std::max(0, room.beside_trainer);
    return on_one_host(with_trainer, workers_);
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

  // The earliest first host leaves the most hosts to spread over.
  std::optional<WorkerCounts> spread(int per_host) const {
    for (const std::size_t first : firsts_) {
      std::vector<Room> open = rooms_from(first);
      open[first].workers = rooms_[first].beside_trainer;
      if (auto counts = spread_out(open, workers_, per_host)) return counts;
    }
    return std::nullopt;
  }

 private:
  // The earliest first host of the largest size that serves.
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

  // `here` workers on the first host, and the others as `place` puts them on the hosts after it.
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

  // Fewer hosts than the workers alone take is none: where as few are found, the search ends.
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

}  // namespace

std::optional<WorkerCounts> beside_trainer(const std::vector<Room>& rooms, int workers,
                                           const PlacementRule& rule) {
  return laid_by(rule, workers, BesideTrainer(rooms, workers));
}

}  // namespace train
