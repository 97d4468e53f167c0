// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "launcher/placement/capacity.hpp"
#include "launcher/placement/choose_hosts.hpp"
#include "launcher/placement/whole_hosts.hpp"

namespace train {

/// The parts that placement rules are made of. Each answers with the workers of every room, or with
/// nothing when it has no placement.
using WorkerCounts = std::vector<int>;

/// Hosts that such an answer uses.
std::ptrdiff_t hosts_used(const WorkerCounts& counts);

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

/// What a rule asks of a chooser, which lays one trial of `workers`: `on_one()`, `on_fewest()`,
/// `spread(per_host)` and `on_whole(allow_heterogeneous)`, each answering as the parts above do.
template <class Chooser>
std::optional<WorkerCounts> laid_by(const PlacementRule& rule, int workers,
                                    const Chooser& chooser) {
  // strict_spread puts one worker on a host; with one host allowed that is one worker in all.
  const bool is_strict_spread = rule.policy == PlacementPolicy::strict_spread;
  if (is_strict_spread && rule.is_single_node && workers > 1) return std::nullopt;
  if (rule.is_one_host()) return chooser.on_one();
  switch (rule.policy) {
    case PlacementPolicy::pack:
      return chooser.on_fewest();
    case PlacementPolicy::spread:
      return chooser.spread(unlimited_workers);
    case PlacementPolicy::strict_spread:
      return chooser.spread(1);
    case PlacementPolicy::strict_pack:
    case PlacementPolicy::automatic:
      break;
  }
  if (auto counts = chooser.on_one()) return counts;
  return chooser.on_whole(rule.allow_heterogeneous);
}

/// `choose_hosts` where the first host that is used must have room for the trainer.
std::optional<WorkerCounts> beside_trainer(const std::vector<Room>& rooms, int workers,
                                           const PlacementRule& rule);

}  // namespace train
