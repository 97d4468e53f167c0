// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/plan.hpp"

namespace train {

/// The part of one host that a trial has.
struct HostPlace {
  std::string host;  ///< its name in the inventory
  int workers = 0;
  std::vector<std::vector<int>> slots;  ///< for each of its ranks, as in `PlannedRank`

  bool operator==(const HostPlace&) const = default;
};

/// Where a trial is placed. With the experiment and the inventory, everything else follows from
/// this (`trial_at`).
struct TrialPlace {
  std::vector<HostPlace> hosts;    ///< by node rank
  std::vector<int> trainer_slots;  ///< as in `Trial`

  bool operator==(const TrialPlace&) const = default;
};

TrialPlace place_of(const Trial& trial);
/// The number of its ranks.
int ranks_of(const TrialPlace& place);

// The hosts of a trial by node rank.
std::vector<std::string> host_names(const TrialPlace& place);
std::vector<std::string> host_names(const Trial& trial);
std::vector<Host> trial_hosts(const Trial& trial);
/// Whether an attempt may run on other hosts than the one before.
bool may_move(const ExperimentConfig& experiment);
/// All hosts that a task may run on: those of its plan first; for a search also all others, and for
/// a task that may move its `spare_hosts`.
std::vector<Host> task_hosts(const HostInventory& inventory, const Plan& plan);
/// The hosts that a task is recorded with: those of its plan; for a search all of `task_hosts`.
std::vector<Host> recorded_hosts(const HostInventory& inventory, const Plan& plan);

}  // namespace train
