// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/placement/occupancy.hpp"
#include "launcher/plan/plan.hpp"

namespace train {

/// Decides where every rank goes, by the policies of Determined (`auto`) and Ray (`pack`, `spread`,
/// `strict_pack`, `strict_spread`), and splits the batch. Touches nothing. What is occupied is not
/// given away: an experiment that only fits idle hosts is refused as busy, with those who hold
/// them. The plan has the warnings of the experiment and of the inventory; a refusal has none.
/// `users` is what `resolve_environment` returned.
tl::expected<Plan, Refusal> make_plan(const ExperimentConfig& experiment,
                                      const HostInventory& inventory,
                                      const Occupancy& occupancy = {},
                                      const UserVariables& users = {});

}  // namespace train
