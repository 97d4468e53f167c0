// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small experiments and inventories, built by hand.

#include <string>
#include <utility>
#include <vector>

#include "launcher/placement/placement.hpp"
#include "launcher/placement/refusal.hpp"

namespace train {

inline Quantity amount(double value) { return *Quantity::from_double(value); }

inline Host gpu_host(const std::string& name, int gpus) {
  Host host;
  host.name = name;
  host.address = name;
  host.accelerators = gpus;
  return host;
}

inline Host place_host(const std::string& name, int slots) {
  Host host;
  host.name = name;
  host.address = name;
  host.slots = slots;
  return host;
}

inline Host cpu_host(const std::string& name, double cpus) {
  Host host;
  host.name = name;
  host.address = name;
  host.cpus = amount(cpus);
  return host;
}

inline Host plain_host(const std::string& name) {
  Host host;
  host.name = name;
  host.address = name;
  return host;
}

inline HostInventory inventory_of(std::vector<Host> hosts) {
  HostInventory inventory;
  inventory.source = "hosts";
  inventory.hosts = std::move(hosts);
  return inventory;
}

/// Hosts n1, n2, ... with these numbers of GPUs.
inline HostInventory gpu_inventory(const std::vector<int>& sizes) {
  std::vector<Host> hosts;
  for (const int size : sizes)
    hosts.push_back(gpu_host("n" + std::to_string(hosts.size() + 1), size));
  return inventory_of(std::move(hosts));
}

/// `workers` workers of one slot each, as `slots_per_trial` makes them.
inline ExperimentConfig slot_experiment(int workers) {
  ExperimentConfig experiment;
  experiment.name = "digits";
  experiment.entrypoint.argv = {"python3", "train.py"};
  experiment.workers = workers;
  experiment.needs.slots = Quantity::of(1);
  experiment.slots = Quantity::of(workers);
  return experiment;
}

/// `workers` workers of `gpus` GPUs each, asked for by that name.
inline ExperimentConfig gpu_experiment(int workers, double gpus) {
  ExperimentConfig experiment = slot_experiment(workers);
  experiment.needs.slots = amount(gpus);
  experiment.needs.gpus_named = true;
  experiment.slots = amount(gpus) * workers;
  return experiment;
}

/// `workers` workers of `cpus` CPUs each and no slot.
inline ExperimentConfig cpu_experiment(int workers, double cpus) {
  ExperimentConfig experiment = slot_experiment(workers);
  experiment.needs.slots = Quantity();
  experiment.needs.cpus = amount(cpus);
  experiment.needs.cpus_named = true;
  experiment.slots = Quantity();
  return experiment;
}

/// Workers of every host that is used: {{"n1", 2}, {"n3", 1}}.
inline std::vector<std::pair<std::string, int>> used_hosts(const Plan& plan) {
  std::vector<std::pair<std::string, int>> used;
  for (const PlannedHost& host : plan.trial.hosts)
    used.emplace_back(host.host.name, host.worker_count);
  return used;
}

/// The slots of every rank.
inline std::vector<std::vector<int>> rank_slots(const Plan& plan) {
  std::vector<std::vector<int>> slots;
  for (const PlannedRank& rank : plan.trial.ranks) slots.push_back(rank.slots);
  return slots;
}

/// The warnings of a plan, without their places.
inline std::vector<std::string> warnings_of(const Plan& plan) {
  std::vector<std::string> messages;
  for (const Diagnostic& warning : plan.warnings) messages.push_back(warning.message);
  return messages;
}

/// Every reason, a line each.
inline std::string reasons_of(const Refusal& refusal) {
  std::string text;
  for (const std::string& reason : refusal.reasons) text += reason + "\n";
  return text;
}

}  // namespace train
