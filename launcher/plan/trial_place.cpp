// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/trial_place.hpp"

#include <set>

namespace train {

TrialPlace place_of(const Trial& trial) {
  TrialPlace place;
  place.trainer_slots = trial.trainer_slots;
  for (const PlannedHost& host : trial.hosts) {
    HostPlace& of_host = place.hosts.emplace_back(HostPlace{host.host.name, host.worker_count, {}});
    const auto first = trial.ranks.begin() + host.first_rank;
    for (auto rank = first; rank != first + host.rank_count; ++rank)
      of_host.slots.push_back(rank->slots);
  }
  return place;
}

std::vector<std::string> host_names(const TrialPlace& place) {
  std::vector<std::string> names;
  for (const HostPlace& host : place.hosts) names.push_back(host.host);
  return names;
}

int ranks_of(const TrialPlace& place) {
  std::size_t ranks = 0;
  for (const HostPlace& host : place.hosts) ranks += host.slots.size();
  return static_cast<int>(ranks);
}

std::vector<std::string> host_names(const Trial& trial) {
  std::vector<std::string> names;
  for (const PlannedHost& host : trial.hosts) names.push_back(host.host.name);
  return names;
}

std::vector<Host> trial_hosts(const Trial& trial) {
  std::vector<Host> hosts;
  for (const PlannedHost& planned : trial.hosts) hosts.push_back(planned.host);
  return hosts;
}

bool may_move(const ExperimentConfig& experiment) { return experiment.max_restarts > 0; }

std::vector<Host> task_hosts(const HostInventory& inventory, const Plan& plan) {
  std::vector<Host> hosts = trial_hosts(plan.trial);
  if (!plan.trials && !may_move(plan.experiment)) return hosts;
  std::set<std::string> names;
  for (const Host& host : hosts) names.insert(host.name);
  std::size_t most = inventory.hosts.size();
  if (!plan.trials && plan.experiment.spare_hosts)
    most = hosts.size() + static_cast<std::size_t>(*plan.experiment.spare_hosts);
  for (const Host& host : inventory.hosts)
    if (hosts.size() < most && !names.contains(host.name)) hosts.push_back(host);
  return hosts;
}

std::vector<Host> recorded_hosts(const HostInventory& inventory, const Plan& plan) {
  return plan.trials ? task_hosts(inventory, plan) : trial_hosts(plan.trial);
}

}  // namespace train
