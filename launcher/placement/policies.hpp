// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "launcher/placement/choose_hosts.hpp"
#include "launcher/placement/whole_hosts.hpp"

namespace train {

/// The parts that placement rules are made of. Each answers with the workers of every room, or with
/// nothing when it has no placement.
using WorkerCounts = std::vector<int>;

/// Indices of the rooms that can be used wholly, by the workers that fill them, most first.
using WholeHosts = std::map<int, std::vector<std::size_t>, std::greater<>>;
WholeHosts whole_hosts(const std::vector<Room>& rooms);
std::vector<SizeGroup> sizes_of(const WholeHosts& hosts);

/// Whether `hosts` hosts of this size hold so many workers, each of them wholly used.
bool makes_up(int workers, int size, std::int64_t hosts);

/// The host where the fewest slots stay free; ties: the first.
std::optional<WorkerCounts> on_one_host(const std::vector<Room>& rooms, int workers);
/// Whole hosts of one size, the largest size first.
std::optional<WorkerCounts> on_equal_hosts(const WholeHosts& hosts, std::size_t rooms, int workers);
/// The fewest whole hosts of any sizes.
std::optional<WorkerCounts> on_mixed_hosts(const WholeHosts& hosts, std::size_t rooms, int workers);
/// The fewest hosts, fullest first, the last one by best fit.
std::optional<WorkerCounts> packed(const std::vector<Room>& rooms, int workers);
/// One worker per host and round, in order; at most `per_host` rounds.
std::optional<WorkerCounts> spread_out(const std::vector<Room>& rooms, int workers, int per_host);

/// `choose_hosts` where the first host that is used must have room for the trainer.
std::optional<WorkerCounts> beside_trainer(const std::vector<Room>& rooms, int workers,
                                           const PlacementRule& rule);

}  // namespace train
