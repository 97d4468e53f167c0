// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/plan.hpp"

namespace train {

/// What a trial has of one host.
struct HostPlace {
  std::string host;  ///< its name in the inventory
  int workers = 0;
  std::vector<std::vector<int>> slots;  ///< of each of its ranks, as in `PlannedRank`

  bool operator==(const HostPlace&) const = default;
};

/// Where a trial is: what placement has chosen, from which with its experiment and the inventory
/// all else follows (`trial_at`).
struct TrialPlace {
  std::vector<HostPlace> hosts;    ///< by node rank
  std::vector<int> trainer_slots;  ///< as in `Trial`

  bool operator==(const TrialPlace&) const = default;
};

TrialPlace place_of(const Trial& trial);

// The hosts of a trial by node rank.
std::vector<std::string> host_names(const TrialPlace& place);
std::vector<std::string> host_names(const Trial& trial);
std::vector<Host> trial_hosts(const Trial& trial);
/// All hosts that a task may run on: those of its plan, and before others where it is a search.
std::vector<Host> task_hosts(const HostInventory& inventory, const Plan& plan);

}  // namespace train
