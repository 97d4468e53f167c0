// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/capacity/occupancy.hpp"
#include "launcher/talks/host_report.hpp"

namespace train {

/// What each slot of a host is known as to those who hold it, by its index: for workers with these
/// needs, whose slots may be GPUs or only places. Empty where workers take no slots.
std::vector<LeaseKey> slot_keys_of(const Host& host, const WorkerNeeds& needs,
                                   const HostReport& report);

/// All of a host, for `holder`.
HostUse whole_host(const Host& host, std::string holder);

/// How many slots of the host nobody holds any of, as workers with these needs count them.
int idle_slots(const Host& host, const WorkerNeeds& needs, const HostReport& report);

/// What is held of a host, in the slots and resources that placement counts for workers with these
/// needs. A use for each holder. Where tasks wait all of it is theirs: others come behind them.
Occupancy occupancy_of(const Host& host, const WorkerNeeds& needs, const HostReport& report);

/// Of a whole inventory: `reports` is by host, nothing where one said nothing. Nothing is known to
/// be held there, which a launch is told by the host itself. Processes outside of `train` count
/// unless the experiment allows them.
Occupancy occupancy_of(const HostInventory& inventory, const ExperimentConfig& experiment,
                       std::vector<std::optional<HostReport>> reports);

}  // namespace train
