// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"

namespace train {

/// What one host can take now.
struct Room {
  int workers = 0;         ///< that fit
  int fill = 0;            ///< workers that use every slot of it; 0: not idle, or cannot be filled
  std::int64_t free = 0;   ///< free slots, in ten-thousandths
  std::int64_t use = 0;    ///< slots of one worker, in ten-thousandths
  int beside_trainer = 0;  ///< workers that fit beside the trainer; -1: the trainer does not
  int fill_beside_trainer = 0;  ///< workers that use every slot that the trainer leaves

  /// The host is idle and can be used to its last slot.
  bool is_whole() const { return fill > 0 && workers >= fill; }
};

/// How hosts are chosen.
struct PlacementRule {
  PlacementPolicy policy = PlacementPolicy::automatic;
  bool is_single_node = false;
  bool allow_heterogeneous = false;
  bool has_trainer = false;  ///< the first host that is used must have room for the trainer as well

  /// All workers must be on one host.
  bool is_one_host() const { return is_single_node || policy == PlacementPolicy::strict_pack; }
};

PlacementRule rule_of(const ExperimentConfig& experiment);

/// Workers of each room, in the order of the rooms, or nothing when the rule has no placement.
/// Exact: when there is a placement under the rule, one is found.
///
/// - automatic (Determined's rule): the host where the fewest slots stay free; else whole hosts of
///   one size, the largest size first whose hosts make up the request; with `allow_heterogeneous`
///   else the fewest whole hosts of any sizes that sum to it;
/// - pack: the fewest hosts, fullest first, the last one by best fit; spread: one worker per host
///   and round, in file order; strict_pack: one host; strict_spread: one worker per host (Ray).
///
/// With a trainer the host of rank 0 is one that has room for it, under the same rules.
std::optional<std::vector<int>> choose_hosts(const std::vector<Room>& rooms, int workers,
                                             const PlacementRule& rule);

}  // namespace train
