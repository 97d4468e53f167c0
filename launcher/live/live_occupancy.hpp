// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/capacity/occupancy.hpp"
#include "launcher/talks/host_report.hpp"

namespace train {

/// The lease key of each slot of a host, by index: for workers with these needs, whose slots may be
/// GPUs or only places. Empty if workers take no slots.
std::vector<LeaseKey> slot_keys_of(const Host& host, const WorkerNeeds& needs,
                                   const HostReport& report);

/// The whole host, used by `holder`.
HostUse whole_host(const Host& host, std::string holder);

/// The number of slots of the host without any holder, as workers with these needs count them.
int idle_slots(const Host& host, const WorkerNeeds& needs, const HostReport& report);

/// What is held on a host, in the slots and resources that placement counts for workers with these
/// needs. One use for each holder. If tasks wait, the whole host counts as theirs, since new tasks
/// are behind them.
Occupancy occupancy_of(const Host& host, const WorkerNeeds& needs, const HostReport& report);

/// The same for a whole inventory. `reports` is by host; nothing: the host did not report, and
/// counts as free, since a launch learns its leases from the host itself. Processes outside of
/// `train` count unless the experiment allows them.
Occupancy occupancy_of(const HostInventory& inventory, const ExperimentConfig& experiment,
                       std::vector<std::optional<HostReport>> reports);

}  // namespace train
