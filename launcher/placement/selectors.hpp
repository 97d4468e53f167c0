// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/placement/choose_hosts.hpp"

namespace train {

/// Workers whose label selectors differ. A host takes workers of some kinds, of others not.
struct SelectedWorkers {
  std::vector<int> of_kind;          ///< workers of each different selector, at most 64 of these
  std::vector<std::uint64_t> kinds;  ///< of every host: bit k when it takes workers of kind k

  /// All workers select alike, so that choosing hosts is choosing numbers.
  bool are_alike() const { return of_kind.size() < 2; }
};

SelectedWorkers select_workers(const ExperimentConfig& experiment, const HostInventory& inventory);

/// `choose_hosts` for workers whose selectors differ, without a trainer. Whether there is a
/// placement under `spread`, `strict_spread`, `strict_pack`, on one host, and under `pack` is found
/// exactly; the fewest hosts of `pack` and the whole hosts of `auto` by a `HostSetSearch`: beyond
/// its bound `pack` uses more hosts and `auto` finds none.
std::optional<std::vector<int>> choose_for_selected(const std::vector<Room>& rooms,
                                                    const SelectedWorkers& workers,
                                                    const PlacementRule& rule);

}  // namespace train
