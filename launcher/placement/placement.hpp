// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/capacity/occupancy.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/plan/trial_place.hpp"

namespace train {

/// Decides where every rank runs, by the policies of Determined (`auto`) and Ray (`pack`, `spread`,
/// `strict_pack`, `strict_spread`), and splits the batch. Has no side effects. Occupied parts are
/// not used: an experiment that only fits idle hosts is refused as busy, with the holders. The plan
/// has the warnings of the experiment and of the inventory; a refusal has none. `users` is the
/// result of `resolve_environment`.
tl::expected<Plan, Refusal> make_plan(const ExperimentConfig& experiment,
                                      const HostInventory& inventory,
                                      const Occupancy& occupancy = {},
                                      const UserVariables& users = {});

/// Places one more trial beside what is occupied, by the same rule. There must be a plan for the
/// experiment and hosts; a failure is not explained. Nothing: there is no room for it.
std::optional<Trial> place_trial(const ExperimentConfig& experiment, const HostInventory& inventory,
                                 const Occupancy& occupancy);

/// The experiment with as many workers as there is room for beside what is occupied, but with fewer
/// than it has, and no fewer than its `least_workers`. Nothing: there is no room for these.
std::optional<ExperimentConfig> shrink(const ExperimentConfig& experiment,
                                       const HostInventory& inventory, const Occupancy& occupancy);

/// The trial that was placed there before, with the same hosts and experiment, shrunken or not; its
/// trial number is not part of the place. Nothing: placement cannot have chosen this place.
std::optional<Trial> trial_at(const ExperimentConfig& experiment, const HostInventory& inventory,
                              const TrialPlace& place);

}  // namespace train
