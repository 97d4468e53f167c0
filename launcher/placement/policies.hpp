// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "launcher/capacity/capacity.hpp"

namespace train {

/// How hosts are chosen.
struct PlacementRule {
  PlacementPolicy policy = PlacementPolicy::automatic;
  bool is_single_node = false;
  bool allow_heterogeneous = false;
  bool has_trainer = false;  ///< the first used host must also have room for the trainer

  /// Whether all workers must be on one host.
  bool is_one_host() const { return is_single_node || policy == PlacementPolicy::strict_pack; }
};

PlacementRule rule_of(const ExperimentConfig& experiment);

/// The workers of each room, in the order of the rooms, or nothing if there is no placement under
/// the rule. Exact: if there is a placement, one is found.
///
/// - in_order: fills each host before the next, in file order (mpirun, Hydra, DeepSpeed); on one
///   host: the first with room for all;
/// - automatic (Determined's rule): the host with the fewest remaining slots; else whole hosts of
///   one size, the largest size first that can serve the request; with `allow_heterogeneous` else
///   the fewest whole hosts of any sizes with the right sum;
/// - pack: the fewest hosts, fullest first, the last one by best fit; spread: one worker per host
///   and round, in file order; strict_pack: one host; strict_spread: one worker per host (Ray).
///
/// With a trainer, the host of rank 0 has room for it, under the same rules.
std::optional<WorkerCounts> choose_hosts(const std::vector<Room>& rooms, int workers,
                                         const PlacementRule& rule);

/// Which host takes a trial that must be on one host.
enum class OneHost {
  best_fit,  ///< the one with the fewest remaining slots; ties: the first
  first,     ///< the first with room for it
};
std::optional<WorkerCounts> on_one_host(const std::vector<Room>& rooms, int workers,
                                        OneHost choice);

/// The number of hosts that a placement uses.
std::ptrdiff_t hosts_used(const WorkerCounts& counts);

/// Places one trial of `workers` by the rule. The chooser knows the hosts and has a function for
/// each way to use them: `on_one(choice)` host, `in_order()`, `on_fewest()` hosts,
/// `spread(per_host)` over all, and `on_whole(allow_heterogeneous)` hosts. Each returns the same as
/// `choose_hosts`.
template <class Chooser>
std::optional<WorkerCounts> place_by_rule(const PlacementRule& rule, int workers,
                                          const Chooser& chooser) {
  // strict_spread allows one worker per host; on one host that is one worker in total.
  const bool is_strict_spread = rule.policy == PlacementPolicy::strict_spread;
  if (is_strict_spread && rule.is_single_node && workers > 1) return std::nullopt;
  const bool is_in_order = rule.policy == PlacementPolicy::in_order;
  if (rule.is_one_host()) return chooser.on_one(is_in_order ? OneHost::first : OneHost::best_fit);
  switch (rule.policy) {
    case PlacementPolicy::in_order:
      return chooser.in_order();
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
  if (auto counts = chooser.on_one(OneHost::best_fit)) return counts;
  return chooser.on_whole(rule.allow_heterogeneous);
}

/// The hosts of one TPU slice: those that declare the same `slice:`, or one host that declares
/// none.
struct TpuSliceHosts {
  std::string name;        ///< of the slice; the host's name if it declares none
  std::vector<int> hosts;  ///< indices, file order
};

/// The slices of an inventory, in the order of their first hosts.
std::vector<TpuSliceHosts> slices_of(const HostInventory& inventory);

/// Whether the slice is complete and can take its workers: as many hosts as `needs` says, each with
/// `chips_per_host` slots and room for `workers_per_host`.
bool is_whole_slice(const TpuSliceHosts& slice, const SliceNeeds& needs,
                    const std::vector<Room>& rooms);

/// The workers of every room: `workers_per_host` on each host of the first complete slices. With a
/// trainer, the very first host has room for it. Nothing if too few slices are complete, or if the
/// rule requires one host and the trial has more.
std::optional<WorkerCounts> choose_slices(const std::vector<TpuSliceHosts>& slices,
                                          const SliceNeeds& needs, const std::vector<Room>& rooms,
                                          const PlacementRule& rule);

}  // namespace train
