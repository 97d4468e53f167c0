// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/what_fits.hpp"

#include <algorithm>

#include "launcher/placement/capacity.hpp"
#include "launcher/placement/policies.hpp"

namespace train {

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
