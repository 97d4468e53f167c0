// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/selected_workers.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <set>

namespace train {

KindMatching::KindMatching(std::vector<int> workers_of_kind)
    : missing_(std::move(workers_of_kind)),
      left_(std::accumulate(missing_.begin(), missing_.end(), 0)) {}

int KindMatching::take(std::uint64_t kinds, int places) {
  int taken = 0;
  while (taken < places) {
    const int more = take_some(kinds, places - taken);
    if (more == 0) break;
    taken += more;
  }
  left_ -= taken;
  return taken;
}

// Breadth-first search from the kinds that the new places serve, over places that could serve
// another kind than now, to a kind without enough places.
int KindMatching::take_some(std::uint64_t kinds, int places) {
  const auto count = missing_.size();
  std::vector<Step> reached(count);
  std::vector<bool> is_reached(count);
  std::deque<int> open;
  const auto reach = [&](std::uint64_t mask, int before) {
    for (std::size_t kind = 0; kind < count; ++kind) {
      if (is_reached[kind] || ((mask >> kind) & 1U) == 0) continue;
      is_reached[kind] = true;
      reached[kind] = {mask, before};
      open.push_back(static_cast<int>(kind));
    }
  };
  reach(kinds, -1);
  while (!open.empty()) {
    const int kind = open.front();
    open.pop_front();
    if (missing_[kind] > 0) return move_along(reached, kind, places);
    for (const auto& [mask, by_kind] : given_)
      if (by_kind[kind] > 0) reach(mask, kind);
  }
  return 0;
}

// On the path to `kind` each place changes to the next kind: as many places as every step allows.
int KindMatching::move_along(const std::vector<Step>& reached, int kind, int places) {
  int moved = std::min(places, missing_[kind]);
  for (Step step = reached[kind]; step.before >= 0; step = reached[step.before])
    moved = std::min(moved, given_[step.mask][step.before]);
  missing_[kind] -= moved;
  while (true) {
    const Step step = reached[kind];
    given_.try_emplace(step.mask, missing_.size()).first->second[kind] += moved;
    if (step.before < 0) return moved;
    given_[step.mask][step.before] -= moved;
    kind = step.before;
  }
}

HostSetSearch::HostSetSearch(const std::vector<HostGroup>& groups,
                             const std::vector<int>& workers_of_kind, bool wholly)
    : groups_(groups), nothing_taken_(workers_of_kind), wholly_(wholly) {}

std::optional<std::vector<std::size_t>> HostSetSearch::find(int hosts) {
  taken_.clear();
  if (!take(0, hosts, nothing_taken_)) return std::nullopt;
  return taken_;
}

bool HostSetSearch::take(std::size_t index, int hosts, const KindMatching& matching) {
  if (is_given_up()) return false;
  if (hosts == 0) return matching.is_done();
  if (index == groups_.size() || !may_serve(index, hosts, matching)) return false;
  const HostGroup& group = groups_[index];
  int most = std::min(hosts, static_cast<int>(group.hosts.size()));
  // The places of a group are equal: if some number can be used, any smaller number can.
  if (wholly_) most = KindMatching(matching).take(group.kinds, most * group.size) / group.size;
  const std::size_t before = taken_.size();
  for (int n = most; n >= 0; --n) {
    KindMatching with = matching;
    with.take(group.kinds, n * group.size);
    ++offers_;
    taken_.insert(taken_.end(), group.hosts.begin(), group.hosts.begin() + n);
    if (take(index + 1, hosts - n, with)) return true;
    taken_.resize(before);
    if (is_given_up()) return false;
  }
  return false;
}

// Whether the hosts from this group on could serve the workers if every group were large enough.
bool HostSetSearch::may_serve(std::size_t index, int hosts, KindMatching matching) {
  // Later groups are not larger.
  if (std::int64_t{hosts} * groups_[index].size < matching.left()) return false;
  for (std::size_t i = index; i < groups_.size() && !matching.is_done(); ++i) {
    const int most = std::min(hosts, static_cast<int>(groups_[i].hosts.size()));
    matching.take(groups_[i].kinds, most * groups_[i].size);
    ++offers_;
  }
  return matching.is_done();
}

namespace {

// Chooses the hosts of a trial whose workers have different selectors.
class SelectedChooser {
 public:
  SelectedChooser(const std::vector<Room>& rooms, const SelectedWorkers& workers)
      : rooms_(rooms),
        workers_(workers),
        count_(std::accumulate(workers.of_kind.begin(), workers.of_kind.end(), 0)) {}

  std::optional<WorkerCounts> on_one(OneHost choice) const {
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - workers_.of_kind.size());
    std::vector<Room> rooms = rooms_;
    for (std::size_t i = 0; i < rooms.size(); ++i)
      if ((workers_.kinds[i] & all) != all) rooms[i].workers = 0;
    return on_one_host(rooms, count_, choice);
  }

  // Fills each host as far as its kinds allow before the next.
  std::optional<WorkerCounts> in_order() const {
    std::vector<std::size_t> order(rooms_.size());
    std::iota(order.begin(), order.end(), 0);
    return filled(order);
  }

  // One worker per host and round, in file order.
  std::optional<WorkerCounts> spread(int per_host) const {
    KindMatching matching(workers_.of_kind);
    WorkerCounts counts(rooms_.size());
    std::set<std::uint64_t> closed;
    for (int round = 0; round < per_host; ++round) {
      bool is_taken = false;
      for (std::size_t i = 0; i < rooms_.size() && !matching.is_done(); ++i) {
        if (rooms_[i].workers <= round || closed.count(workers_.kinds[i]) > 0) continue;
        if (matching.take(workers_.kinds[i]) > 0)
          ++counts[i], is_taken = true;
        else
          closed.insert(workers_.kinds[i]);
      }
      if (matching.is_done()) return counts;
      if (!is_taken) break;
    }
    return std::nullopt;
  }

  // The fewest hosts: of all sets of that size, the first that works.
  std::optional<WorkerCounts> on_fewest() const {
    auto counts = filled(in_order_of_size());
    if (!counts) return std::nullopt;
    const auto groups = group_hosts([](const Room& room) { return room.workers; });
    if (auto fewer = search(groups, static_cast<int>(hosts_used(*counts)) - 1, false)) return fewer;
    return counts;
  }

  std::optional<WorkerCounts> on_whole(bool allow_heterogeneous) const {
    const auto groups =
        group_hosts([](const Room& room) { return room.is_whole() ? room.fill : 0; });
    std::set<int, std::greater<>> sizes;
    for (const HostGroup& group : groups) sizes.insert(group.size);
    for (const int size : sizes) {
      std::vector<HostGroup> equal;
      for (const HostGroup& group : groups)
        if (group.size == size) equal.push_back(group);
      if (count_ % size != 0) continue;
      if (auto counts = search(equal, count_ / size, true)) return counts;
    }
    if (!allow_heterogeneous) return std::nullopt;
    return search(groups, static_cast<int>(std::min<std::size_t>(rooms_.size(), count_)), true);
  }

 private:
  template <class Size>
  std::vector<HostGroup> group_hosts(Size size_of) const {
    std::map<std::pair<int, std::uint64_t>, HostGroup, std::greater<>> groups;
    for (std::size_t i = 0; i < rooms_.size(); ++i) {
      const int size = std::min(size_of(rooms_[i]), count_);
      if (size < 1 || workers_.kinds[i] == 0) continue;
      HostGroup& group = groups[{size, workers_.kinds[i]}];
      group.kinds = workers_.kinds[i];
      group.size = size;
      group.hosts.push_back(i);
    }
    std::vector<HostGroup> sorted;
    sorted.reserve(groups.size());
    for (auto& [key, group] : groups) sorted.push_back(std::move(group));
    return sorted;
  }

  std::vector<std::size_t> in_order_of_size() const {
    std::vector<std::size_t> order(rooms_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return rooms_[a].workers > rooms_[b].workers;
    });
    return order;
  }

  // Workers on these hosts, each filled as far as possible before the next.
  std::optional<WorkerCounts> filled(const std::vector<std::size_t>& order) const {
    KindMatching matching(workers_.of_kind);
    WorkerCounts counts(rooms_.size());
    for (const std::size_t host : order)
      if (!matching.is_done())
        counts[host] = matching.take(workers_.kinds[host], std::min(count_, rooms_[host].workers));
    if (!matching.is_done()) return std::nullopt;
    return counts;
  }

  // Up to `most` hosts that serve all workers, the fewest first; `wholly`: each host completely
  // used. This is as hard as an exact cover, so the steps are limited.
  std::optional<WorkerCounts> search(const std::vector<HostGroup>& groups, int most,
                                     bool wholly) const {
    if (groups.empty()) return std::nullopt;
    HostSetSearch search(groups, workers_.of_kind, wholly);
    const int largest = groups.front().size;
    for (int hosts = (count_ + largest - 1) / largest; hosts <= most; ++hosts) {
      if (const auto found = search.find(hosts)) return filled(*found);
      if (search.is_given_up()) break;
    }
    return std::nullopt;
  }

  const std::vector<Room>& rooms_;
  const SelectedWorkers& workers_;
  int count_;  // workers of all kinds
};

}  // namespace

SelectedWorkers select_workers(const ExperimentConfig& experiment, const HostInventory& inventory) {
  SelectedWorkers selected;
  std::vector<const LabelSelector*> different;
  for (const LabelSelector& selector : experiment.label_selectors) {
    const auto known = std::find_if(different.begin(), different.end(),
                                    [&](const LabelSelector* each) { return *each == selector; });
    const auto kind = static_cast<std::size_t>(known - different.begin());
    if (known == different.end()) {
      different.push_back(&selector);
      selected.of_kind.push_back(0);
    }
    ++selected.of_kind[kind];
  }
  if (selected.are_alike()) return selected;
  selected.kinds.resize(inventory.hosts.size());
  for (std::size_t i = 0; i < inventory.hosts.size(); ++i)
    for (std::size_t kind = 0; kind < different.size(); ++kind)
      if (matches(*different[kind], inventory.hosts[i].labels))
        selected.kinds[i] |= std::uint64_t{1} << kind;
  return selected;
}

std::optional<WorkerCounts> choose_for_selected(const std::vector<Room>& rooms,
                                                const SelectedWorkers& workers,
                                                const PlacementRule& rule) {
  const int count = std::accumulate(workers.of_kind.begin(), workers.of_kind.end(), 0);
  return place_by_rule(rule, count, SelectedChooser(rooms, workers));
}

}  // namespace train
