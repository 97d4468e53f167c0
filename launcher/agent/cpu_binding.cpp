// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/cpu_binding.hpp"

#include <algorithm>
#include <climits>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "config_schema/text/text.hpp"

namespace train {

namespace {

using Nodes = std::vector<std::vector<int>>;

struct Core {
  int area = 0;  ///< its NUMA node, or its socket
  int node = 0;
  std::vector<int> cpus;
};

enum class Areas { nodes, sockets };

// Sorted by area. A core belongs to the area of its first CPU.
std::vector<Core> cores_of(const CpuTopology& topology, Areas areas) {
  std::map<int, Core> by_number;
  for (const Cpu& cpu : topology.cpus) {
    const int area = areas == Areas::nodes ? cpu.node : cpu.package;
    by_number.try_emplace(cpu.core, Core{area, cpu.node, {}})
        .first->second.cpus.push_back(cpu.number);
  }
  std::vector<Core> cores;
  cores.reserve(by_number.size());
  for (auto& [number, core] : by_number) cores.push_back(std::move(core));
  std::stable_sort(cores.begin(), cores.end(),
                   [](const Core& a, const Core& b) { return a.area < b.area; });
  return cores;
}

std::size_t count_areas(const std::vector<Core>& cores) {
  std::set<int> areas;
  for (const Core& core : cores) areas.insert(core.area);
  return areas.size();
}

std::set<int> areas_of(const std::vector<Core>& cores, const std::vector<int>& nodes) {
  std::set<int> areas;
  for (const Core& core : cores)
    if (std::find(nodes.begin(), nodes.end(), core.node) != nodes.end()) areas.insert(core.area);
  return areas;
}

// The areas of the `i`-th of `count` ranks without known nodes. Each such rank has an even part of
// the cores; its area is where the middle of that part lies. With more areas than ranks: all areas
// that the part touches.
std::set<int> dealt(const std::vector<Core>& cores, std::size_t i, std::size_t count) {
  const std::size_t all = cores.size();
  if (count >= count_areas(cores)) return {cores[(2 * i + 1) * all / (2 * count)].area};
  std::set<int> areas;
  for (std::size_t core = i * all / count; core < (i + 1) * all / count; ++core)
    areas.insert(cores[core].area);
  return areas;
}

// Needs at least one core.
std::vector<std::set<int>> homes_of(const std::vector<Core>& cores, const Nodes& nodes) {
  std::vector<std::set<int>> homes;
  for (const std::vector<int>& of_rank : nodes) homes.push_back(areas_of(cores, of_rank));
  const auto count = static_cast<std::size_t>(
      std::count_if(homes.begin(), homes.end(), [](const auto& home) { return home.empty(); }));
  for (std::size_t i = 0; auto& home : homes)
    if (home.empty()) home = dealt(cores, i++, count);
  return homes;
}

// Maps every core to the ranks that may use it.
class Division {
 public:
  Division(std::vector<Core> cores, const Nodes& nodes) : cores_(std::move(cores)) {
    const auto homes = homes_of(cores_, nodes);
    for (std::size_t rank = 0; rank < homes.size(); ++rank)
      for (const int area : homes[rank]) areas_[area].ranks.push_back(rank);
    for (std::size_t core = 0; core < cores_.size(); ++core)
      areas_[cores_[core].area].cores.push_back(core);
    ranks_ = homes.size();
  }

  bool leaves_some_idle() const {
    return std::any_of(areas_.begin(), areas_.end(),
                       [](const auto& entry) { return entry.second.ranks.empty(); });
  }

  std::vector<CpuShare> shared() const {
    std::vector<CpuShare> shares = own();
    for (CpuShare& share : shares) {
      share.threads = std::max(1, share.threads);
      share.cpus.clear();
    }
    for (const auto& [number, area] : areas_)
      for (const std::size_t rank : area.ranks)
        for (const std::size_t core : area.cores) add(core, shares[rank]);
    return sorted(std::move(shares));
  }

  // For a rank that gets no core, `threads` is 0.
  std::vector<CpuShare> own() const {
    std::vector<CpuShare> shares(ranks_);
    const auto give = [&](std::size_t core, std::size_t rank) { add_own(core, shares[rank]); };
    for (const auto& [number, area] : areas_) deal(area.cores, area.ranks, give);
    return sorted(std::move(shares));
  }

  // The same for a division among slots: ranks of one slot divide its cores.
  std::vector<CpuShare> own_of_ranks(const Nodes& slots_of_ranks) const {
    std::vector<std::vector<std::size_t>> cores(ranks_);
    const auto give = [&](std::size_t core, std::size_t slot) { cores[slot].push_back(core); };
    for (const auto& [number, area] : areas_) deal(area.cores, area.ranks, give);
    std::vector<CpuShare> shares(slots_of_ranks.size());
    const auto give_rank = [&](std::size_t core, std::size_t rank) { add_own(core, shares[rank]); };
    for (std::size_t slot = 0; slot < ranks_; ++slot)
      deal(cores[slot], ranks_with(slot, slots_of_ranks), give_rank);
    return sorted(std::move(shares));
  }

 private:
  static std::vector<std::size_t> ranks_with(std::size_t slot, const Nodes& slots_of_ranks) {
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 0; rank < slots_of_ranks.size(); ++rank)
      for (const int each : slots_of_ranks[rank])
        if (static_cast<std::size_t>(each) == slot) ranks.push_back(rank);
    return ranks;
  }

  // Gives each sharer an even part of the cores.
  static void deal(const std::vector<std::size_t>& cores, const std::vector<std::size_t>& sharers,
                   const std::function<void(std::size_t core, std::size_t sharer)>& give) {
    const std::size_t count = sharers.size();
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t each = i * cores.size() / count; each < (i + 1) * cores.size() / count;
           ++each)
        give(cores[each], sharers[i]);
  }

  void add_own(std::size_t core, CpuShare& share) const {
    add(core, share);
    ++share.threads;
  }

  struct Area {
    std::vector<std::size_t> ranks;
    std::vector<std::size_t> cores;
  };

  void add(std::size_t core, CpuShare& share) const {
    const std::vector<int>& cpus = cores_[core].cpus;
    share.cpus.insert(share.cpus.end(), cpus.begin(), cpus.end());
  }

  static std::vector<CpuShare> sorted(std::vector<CpuShare> shares) {
    for (CpuShare& share : shares) std::sort(share.cpus.begin(), share.cpus.end());
    return shares;
  }

  const std::vector<Core> cores_;
  std::map<int, Area> areas_;
  std::size_t ranks_ = 0;
};

bool has_each_a_core(const std::vector<CpuShare>& shares) {
  return std::all_of(shares.begin(), shares.end(),
                     [](const CpuShare& share) { return share.threads > 0; });
}

CpuShares not_bound(std::size_t ranks) {
  return {std::vector<CpuShare>(ranks, CpuShare{{}, ranks > 1 ? 1 : 0})};
}

// For a host that the trial has for itself.
CpuShares share_whole_host(const CpuTopology& topology, const Nodes& nodes) {
  for (const Areas areas : {Areas::nodes, Areas::sockets}) {
    const Division division(cores_of(topology, areas), nodes);
    std::vector<CpuShare> own = division.own();
    if (!division.leaves_some_idle() && has_each_a_core(own)) return {std::move(own)};
  }
  return not_bound(nodes.size());
}

std::vector<int> numbers_in(std::string_view list) {
  std::vector<int> numbers;
  for (const std::string_view each : split(list, ','))
    if (const auto number = whole_number(each, 0, INT_MAX)) numbers.push_back(*number);
  return numbers;
}

std::string_view value_of(const std::vector<EnvironmentEntry>& environment, std::string_view name) {
  for (const EnvironmentEntry& entry : environment)
    if (entry.name == name) return entry.text;
  return {};
}

// The elements of `all` at these positions; positions out of range are skipped.
std::vector<int> at(const std::vector<int>& all, const std::vector<int>& positions) {
  std::vector<int> some;
  for (const int position : positions)
    if (position >= 0 && static_cast<std::size_t>(position) < all.size())
      some.push_back(all[static_cast<std::size_t>(position)]);
  return some;
}

}  // namespace

std::vector<int> devices_in(const std::vector<EnvironmentEntry>& environment, const char* visible) {
  return at(numbers_in(value_of(environment, visible)),
            numbers_in(value_of(environment, "TRAIN_DEVICE_INDICES")));
}

CpuShares share_cpus(const CpuTopology& topology, const RanksOnHost& ranks,
                     const CpuBindingRule& rule) {
  const Nodes& nodes = ranks.nodes;
  const std::vector<Core> by_node = cores_of(topology, Areas::nodes);
  if (by_node.empty() || nodes.empty()) return not_bound(nodes.size());
  switch (rule.mode) {
    case CpuBinding::none:
      return not_bound(nodes.size());
    case CpuBinding::automatic:
      if (count_areas(by_node) < 2) return not_bound(nodes.size());
      if (rule.has_whole_host) return share_whole_host(topology, nodes);
      return {Division(by_node, nodes).shared()};
    case CpuBinding::node:
      return {Division(by_node, nodes).shared()};
    case CpuBinding::socket:
      return {Division(cores_of(topology, Areas::sockets), nodes).shared()};
    case CpuBinding::exclusive:
      break;
  }
  const Division division(by_node, nodes);
  std::vector<CpuShare> own =
      rule.has_whole_host || ranks.nodes_of_slots.empty()
          ? division.own()
          : Division(by_node, ranks.nodes_of_slots).own_of_ranks(ranks.slots);
  if (has_each_a_core(own)) return {std::move(own)};
  return {division.shared(), true};
}

RanksOnHost ranks_on_host(const std::vector<std::vector<EnvironmentEntry>>& environments,
                          const CpuTopology& topology, const CpuBindingRule& rule) {
  RanksOnHost there;
  std::vector<std::set<int>> nodes(environments.size());
  const auto add = [&](const char* visible, const std::vector<int>& nodes_of_all) {
    Nodes devices;
    for (const auto& environment : environments)
      devices.push_back(devices_in(environment, visible));
    for (std::size_t rank = 0; rank < devices.size(); ++rank)
      for (const int node : at(nodes_of_all, devices[rank]))
        if (node >= 0) nodes[rank].insert(node);
    const bool has_each_some = std::none_of(devices.begin(), devices.end(),
                                            [](const auto& of_rank) { return of_rank.empty(); });
    if (devices.empty() || !has_each_some || !there.slots.empty()) return;
    for (const int node : nodes_of_all)
      there.nodes_of_slots.push_back(node >= 0 ? std::vector<int>{node} : std::vector<int>());
    there.slots = std::move(devices);
  };
  add("CUDA_VISIBLE_DEVICES", topology.cuda_nodes);
  add("ROCR_VISIBLE_DEVICES", topology.rocm_nodes);
  for (const std::set<int>& of_rank : nodes)
    there.nodes.emplace_back(of_rank.begin(), of_rank.end());
  if (!there.slots.empty()) return there;
  if (rule.slots_of_ranks.size() != environments.size()) return there;
  there.nodes_of_slots.resize(static_cast<std::size_t>(rule.slots));
  there.slots = rule.slots_of_ranks;
  return there;
}

}  // namespace train
