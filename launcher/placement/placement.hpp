// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/capacity/occupancy.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/plan/trial_place.hpp"

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

/// Where one more trial goes beside what is occupied, by the same rule, of an experiment and hosts
/// for which there is a plan: nothing is explained. Nothing: there is no room for it.
std::optional<Trial> place_trial(const ExperimentConfig& experiment, const HostInventory& inventory,
                                 const Occupancy& occupancy);

/// The trial that was placed there, of the same experiment and hosts; its number is not of its
/// place. Nothing: placement cannot have chosen that.
std::optional<Trial> trial_at(const ExperimentConfig& experiment, const HostInventory& inventory,
                              const TrialPlace& place);

}  // namespace train
