// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/host_set_search.hpp"

#include <algorithm>

namespace train {

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
  // The places of a group are alike: of as many as can be used, any number can be.
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

// Whether the hosts from this group on would serve if as many of every group could be taken.
bool HostSetSearch::may_serve(std::size_t index, int hosts, KindMatching matching) {
  // Later groups are no larger.
  if (std::int64_t{hosts} * groups_[index].size < matching.left()) return false;
  for (std::size_t i = index; i < groups_.size() && !matching.is_done(); ++i) {
    const int most = std::min(hosts, static_cast<int>(groups_[i].hosts.size()));
    matching.take(groups_[i].kinds, most * groups_[i].size);
    ++offers_;
  }
  return matching.is_done();
}

}  // namespace train
