// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/choose_hosts.hpp"

#include "launcher/placement/capacity.hpp"
#include "launcher/placement/policies.hpp"

namespace train {
namespace {

std::optional<WorkerCounts> by_determined(const std::vector<Room>& rooms, int workers,
                                          bool allow_heterogeneous) {
  if (auto counts = on_one_host(rooms, workers)) return counts;
  const WholeHosts hosts = whole_hosts(rooms);
  if (auto counts = on_equal_hosts(hosts, rooms.size(), workers)) return counts;
  if (allow_heterogeneous) return on_mixed_hosts(hosts, rooms.size(), workers);
  return std::nullopt;
}

}  // namespace

PlacementRule rule_of(const ExperimentConfig& experiment) {
  return {.policy = experiment.placement,
          .is_single_node = experiment.is_single_node,
          .allow_heterogeneous = experiment.allow_heterogeneous,
          .has_trainer = !experiment.trainer.empty()};
}

std::optional<std::vector<int>> choose_hosts(const std::vector<Room>& rooms, int workers,
                                             const PlacementRule& rule) {
  // strict_spread puts one worker on a host; with one host allowed that is one worker in all.
  const bool is_strict_spread = rule.policy == PlacementPolicy::strict_spread;
  if (is_strict_spread && rule.is_single_node && workers > 1) return std::nullopt;
  if (rule.has_trainer) return beside_trainer(rooms, workers, rule);
  if (rule.is_one_host()) return on_one_host(rooms, workers);
  switch (rule.policy) {
    case PlacementPolicy::pack:
      return packed(rooms, workers);
    case PlacementPolicy::spread:
      return spread_out(rooms, workers, unlimited_workers);
    case PlacementPolicy::strict_spread:
      return spread_out(rooms, workers, 1);
    case PlacementPolicy::strict_pack:
    case PlacementPolicy::automatic:
      break;
  }
  return by_determined(rooms, workers, rule.allow_heterogeneous);
}

}  // namespace train
