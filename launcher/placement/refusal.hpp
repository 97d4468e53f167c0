// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/capacity/occupancy.hpp"
#include "launcher/plan/plan.hpp"

namespace train {

struct HostSearch;

/// Why the search found no placement: the first constraint that fails, hosts and numbers, and the
/// nearest counts that fit. The search must not have a placement.
Refusal explain_refusal(const ExperimentConfig& experiment, const HostInventory& inventory,
                        const HostSearch& search);

/// Why the search found no placement on the free slots although idle hosts have one: the first
/// constraint that fails, and the holders on the hosts that the experiment could use.
Refusal explain_busy(const ExperimentConfig& experiment, const HostInventory& inventory,
                     const HostSearch& search, const Occupancy& occupancy);

/// The holders on these hosts of the inventory, by index, in the order of the hosts.
std::vector<Holder> holders_of(const HostInventory& inventory, const std::vector<int>& hosts,
                               const Occupancy& occupancy);
/// One line for each holder, limited to the first ones: "task 3f9c of alice holds 8 slots of
/// node[01-02], for 12 min".
std::vector<std::string> holder_lines(const std::vector<Holder>& holders);

/// A refusal whose reason is not the hosts, with the nearest counts that fit on these hosts and for
/// which the batch can be split.
Refusal refuse(const ExperimentConfig& experiment, const HostSearch& search, std::string reason);

/// A refusal for users: the reasons, then the counts that would fit.
Error to_error(const Refusal& refusal);

}  // namespace train
