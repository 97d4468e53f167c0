// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "launcher/placement/selected_kinds.hpp"

namespace train {

/// Hosts that are all the same to the search, in the order in which they are taken.
struct HostGroup {
  std::uint64_t kinds = 0;  ///< of workers that they take: bit k for kind k
  int size = 0;             ///< workers that one of them takes, >= 1
  std::vector<std::size_t> hosts;
};

/// Searches for a set of hosts with room for workers of several kinds. Exact within a bound of
/// work over all calls: depth first over how many hosts of each group are taken, leaving out what
/// cannot lead to a set, by the places that the workers could use on all the hosts that are left.
class HostSetSearch {
 public:
  /// `groups` by size, largest first. `wholly`: every place of every host taken is to be used.
  HostSetSearch(const std::vector<HostGroup>& groups, const std::vector<int>& workers_of_kind,
                bool wholly);

  /// Exactly this many hosts; of all sets that serve, the one with the most of the first groups.
  std::optional<std::vector<std::size_t>> find(int hosts);
  /// The last `find` ended at the bound: it found none, and there may be one.
  bool is_given_up() const { return offers_ >= most_offers; }

 private:
  // Of places to the matching: what the time goes into, some tenths of a second in all.
  static constexpr int most_offers = 200'000;

  bool take(std::size_t index, int hosts, const KindMatching& matching);
  bool may_serve(std::size_t index, int hosts, KindMatching matching);

  const std::vector<HostGroup>& groups_;
  KindMatching nothing_taken_;
  bool wholly_;
  int offers_ = 0;
  std::vector<std::size_t> taken_;
};

}  // namespace train
