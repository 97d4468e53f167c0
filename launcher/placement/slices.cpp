// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/slices.hpp"

#include <algorithm>
#include <unordered_map>

#include "config_schema/text/quantity.hpp"

namespace train {

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

std::optional<std::vector<int>> choose_slices(const std::vector<TpuSliceHosts>& slices,
                                              const SliceNeeds& needs,
                                              const std::vector<Room>& rooms,
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
  std::vector<int> counts(rooms.size());
  for (auto slice = first; slice != first + needs.slices; ++slice)
    for (const int host : (*slice)->hosts)
      counts[static_cast<std::size_t>(host)] = needs.workers_per_host;
  return counts;
}

}  // namespace train
