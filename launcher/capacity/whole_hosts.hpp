// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "launcher/capacity/capacity.hpp"

namespace train {

/// Indices of the rooms that can be used completely, by the number of workers that fill them,
/// largest first.
using WholeHosts = std::map<int, std::vector<std::size_t>, std::greater<>>;
WholeHosts whole_hosts(const std::vector<Room>& rooms);

/// Whether `hosts` hosts of this size hold exactly this many workers, each of them completely used.
bool makes_up(int workers, int size, std::int64_t hosts);

/// Whole hosts of one size, the largest possible size first. `rooms` is the number of all rooms.
std::optional<WorkerCounts> on_equal_hosts(const WholeHosts& hosts, std::size_t rooms, int workers);
/// The fewest whole hosts of any sizes.
std::optional<WorkerCounts> on_mixed_hosts(const WholeHosts& hosts, std::size_t rooms, int workers);

/// Hosts of one size.
struct SizeGroup {
  int size = 0;   ///< >= 1
  int hosts = 0;  ///< >= 1
};
std::vector<SizeGroup> sizes_of(const WholeHosts& hosts);

/// The search for a sum takes sizes x sum steps; beyond this limit it is skipped (it would take
/// more than some seconds).
inline constexpr std::size_t most_search_steps = 2'000'000'000;

/// The search for the fewest hosts stores a table with this many cells at most; beyond that, any
/// hosts with the right sum are taken.
inline constexpr std::size_t most_search_cells = 24'000'000;

/// Whether `hosts_that_sum` and `sums_of_hosts` search up to this sum.
bool is_searchable(const std::vector<SizeGroup>& groups, int sum);

/// How many hosts of each group give exactly `sum`: the fewest in total; of equally few, more of
/// the first groups (any, if there are very many sizes). Nothing if no choice does, or if the
/// search would be too large.
std::optional<std::vector<int>> hosts_that_sum(const std::vector<SizeGroup>& groups, int sum);

/// Which sums from 0 to `largest` a choice of hosts can give. Empty if the search would be too
/// large.
std::vector<bool> sums_of_hosts(const std::vector<SizeGroup>& groups, int largest);

}  // namespace train
