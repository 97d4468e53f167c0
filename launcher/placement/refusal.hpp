// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/capacity/occupancy.hpp"
#include "launcher/plan/plan.hpp"

namespace train {

struct HostSearch;

/// Why the search found no placement: the first constraint that fails, hosts and numbers, and the
/// nearest counts that fit. The search must not be placed.
Refusal explain_refusal(const ExperimentConfig& experiment, const HostInventory& inventory,
                        const HostSearch& search);

/// Why the search found no placement on what is free now, although idle hosts have one: the first
/// constraint that fails, and who holds what of the hosts that the experiment could use.
Refusal explain_busy(const ExperimentConfig& experiment, const HostInventory& inventory,
                     const HostSearch& search, const Occupancy& occupancy);

/// Who holds something of these hosts of the inventory, by index, in the order of the hosts.
std::vector<Holder> holders_of(const HostInventory& inventory, const std::vector<int>& hosts,
                               const Occupancy& occupancy);
/// A line for each, of very many for the first: "task 3f9c of alice holds 8 slots of node[01-02],
/// for 12 min".
std::vector<std::string> holder_lines(const std::vector<Holder>& holders);

/// A refusal for a reason that is not the hosts', with the nearest counts that these hosts can take
/// and for which the batch can be split.
Refusal refuse(const ExperimentConfig& experiment, const HostSearch& search, std::string reason);

/// A refusal as users see it: the reasons, then the counts that would fit.
Error to_error(const Refusal& refusal);

}  // namespace train
