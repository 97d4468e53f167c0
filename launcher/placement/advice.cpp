// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "config_schema/hosts/host_fold.hpp"
#include "launcher/placement/changes.hpp"
#include "launcher/placement/policies.hpp"
#include "launcher/placement/search_words.hpp"
#include "launcher/plan/summaries.hpp"

namespace train {
namespace {

template <class Predicate>
std::vector<std::string> hosts_where(const Trial& trial, Predicate predicate) {
  std::vector<std::string> names;
  for (const PlannedHost& host : trial.hosts)
    if (predicate(host)) names.push_back(host.host.name);
  return names;
}

const char* verb(const std::vector<std::string>& names, const char* one, const char* many) {
  return names.size() == 1 ? one : many;
}

void warn_of_slots(const ExperimentConfig& experiment, const Trial& trial,
                   std::vector<std::string>& lines) {
  const auto undeclared = hosts_where(trial, [&](const PlannedHost& host) {
    return slot_supply(host.host, experiment.needs).undeclared;
  });
  if (!undeclared.empty()) lines.push_back(undeclared_slots_text(undeclared));
  const auto assumed = hosts_where(trial, [&](const PlannedHost& host) {
    const SlotSupply supply = slot_supply(host.host, experiment.needs);
    return supply.gpus_assumed && !supply.undeclared;
  });
  if (!assumed.empty())
    lines.push_back(
        fmt::format("{} {} slots and nothing of GPUs: a launch asks whether there are as many",
                    summarize_hosts(assumed), verb(assumed, "says", "say")));
}

// The option that restricts slots to GPUs.
std::string ask_for_gpus(const ExperimentConfig& experiment) {
  WorkerNeeds needs = experiment.needs;
  needs.gpus_named = true;
  return set_worker_needs(experiment, needs);
}

// Slots that are GPUs on one host and CPUs on another are rarely intended.
void warn_of_cpus_as_slots(const ExperimentConfig& experiment, const HostInventory& inventory,
                           const Trial& trial, std::vector<std::string>& lines) {
  const auto on_cpus = hosts_where(trial, [&](const PlannedHost& host) {
    return slot_supply(host.host, experiment.needs).kind == SlotKind::cpus;
  });
  const bool has_devices =
      std::any_of(inventory.hosts.begin(), inventory.hosts.end(),
                  [](const Host& host) { return host.accelerators.value_or(0) > 0; });
  if (experiment.needs.slots.is_zero() || on_cpus.empty() || !has_devices) return;
  lines.push_back(fmt::format(
      "the slots of {} are CPUs, where others have accelerators: {} asks for GPUs alone",
      summarize_hosts(on_cpus, 2), ask_for_gpus(experiment)));
}

void warn_of_unchecked(const ExperimentConfig& experiment, const Trial& trial,
                       std::vector<std::string>& lines) {
  const WorkerNeeds& needs = experiment.needs;
  const auto no_cpus =
      hosts_where(trial, [](const PlannedHost& host) { return !host.host.cpus.has_value(); });
  if (needs.cpus_named && !needs.cpus.is_zero() && !no_cpus.empty())
    lines.push_back(fmt::format("{} {} not say how many CPUs there are: {} per worker not checked",
                                summarize_hosts(no_cpus), verb(no_cpus, "does", "do"),
                                counted(to_string(needs.cpus), "CPU")));
  const auto no_memory =
      hosts_where(trial, [](const PlannedHost& host) { return !host.host.memory.has_value(); });
  if (needs.memory.value_or(0) > 0 && !no_memory.empty())
    lines.push_back(
        fmt::format("{} {} not say how much memory there is: {} bytes per worker not checked",
                    summarize_hosts(no_memory), verb(no_memory, "does", "do"), *needs.memory));
}

void advise_on_batch(const ExperimentConfig& experiment, const Trial& trial,
                     std::vector<std::string>& lines) {
  constexpr std::uint64_t small_share = 8;
  if (experiment.workers < 2 || !trial.per_slot_batch_size) return;
  if (*trial.per_slot_batch_size >= small_share) return;
  lines.push_back(fmt::format(
      "weak scaling: {} of the batch of {} per slot is little; grow global_batch_size with the "
      "slots",
      counted(fmt::format("{}", *trial.per_slot_batch_size), "sample"), *trial.global_batch_size));
}

void advise_on_cpu_workers(const ExperimentConfig& experiment, const Trial& trial,
                           std::vector<std::string>& lines) {
  if (!experiment.needs.slots.is_zero()) return;
  const auto crowded =
      hosts_where(trial, [](const PlannedHost& host) { return host.worker_count > 1; });
  if (crowded.empty()) return;
  lines.push_back(fmt::format(
      "{} {} more than one CPU-only worker: one with more CPUs needs no communication there",
      summarize_hosts(crowded), verb(crowded, "has", "have")));
}

void advise_on_slot_type(const Trial& trial, std::vector<std::string>& lines) {
  const auto asked = hosts_where(trial, [](const PlannedHost& host) {
    return host.devices_at_launch && !host.slots_are_gpus && host.host.slots;
  });
  if (asked.empty()) return;
  lines.push_back(
      fmt::format("{} {} slots and nothing of GPUs: a launch asks, and slots are GPUs if all hosts "
                  "have as many, places without any if none has one (slot_type in a hosts file "
                  "says it now)",
                  summarize_hosts(asked, 2), verb(asked, "says", "say")));
}

// Names a share only if the same hosts could give it to every worker.
void advise_on_cpus_per_gpu(const ExperimentConfig& experiment, const HostInventory& inventory,
                            const Holdings& holdings, const HostSearch& search, const Trial& trial,
                            std::vector<std::string>& lines) {
  const WorkerNeeds& needs = experiment.needs;
  if (needs.slots < Quantity::of(1)) return;
  std::int64_t fair = 0;  // CPUs per worker that every host could give
  std::vector<std::string> idle;
  for (const PlannedHost& planned : trial.hosts) {
    const int devices = planned.host.accelerators.value_or(0);
    if (!planned.slots_are_gpus || devices == 0 || !planned.host.cpus) continue;
    const std::int64_t share = planned.host.cpus->parts() * needs.slots.whole() / devices;
    const std::int64_t whole = share / Quantity::scale;
    if (whole <= 1 || Quantity::of(whole) <= needs.cpus) continue;
    fair = idle.empty() ? whole : std::min(fair, whole);
    idle.push_back(planned.host.name);
  }
  if (idle.empty()) return;
  ExperimentConfig changed = experiment;
  changed.needs.cpus = Quantity::of(fair);
  if (search_hosts(changed, inventory, holdings).counts != search.counts) return;
  changed.needs.cpus_named = true;
  lines.push_back(
      fmt::format("CPUs beside the {} of {} stay unused: a worker takes {}, its share "
                  "is {} ({})",
                  needs.tpus_named ? "chips" : "GPUs", summarize_hosts(idle, 2),
                  needs.cpus.is_zero() ? "none by name" : to_string(needs.cpus), fair,
                  set_worker_needs(experiment, changed.needs)));
}

void advise_on_hosts(const ExperimentConfig& experiment, const HostSearch& search,
                     const Trial& trial, std::vector<std::string>& lines) {
  const bool is_laid_out = experiment.slices || !search.selected.are_alike() ||
                           experiment.placement == PlacementPolicy::strict_spread ||
                           experiment.placement == PlacementPolicy::pack;
  if (is_laid_out || trial.hosts.size() < 2) return;
  PlacementRule pack = rule_of(experiment);
  pack.policy = PlacementPolicy::pack;
  const auto fewest_hosts = choose_hosts(search.rooms, experiment.workers, pack);
  if (!fewest_hosts) return;
  const std::ptrdiff_t fewest = hosts_used(*fewest_hosts);
  if (static_cast<std::size_t>(fewest) >= trial.hosts.size()) return;
  const std::string why =
      experiment.placement == PlacementPolicy::in_order
          ? fmt::format("in order, {} is filled before {}: ", trial.hosts[0].host.name,
                        trial.hosts[1].host.name)
          : std::string();
  lines.push_back(fmt::format("{}{} hosts are used where {} would do (placement: pack)", why,
                              trial.hosts.size(), fewest));
}

}  // namespace

std::vector<std::string> placement_warnings(const ExperimentConfig& experiment,
                                            const HostInventory& inventory, const Trial& trial) {
  std::vector<std::string> lines;
  const bool has_pools = std::any_of(inventory.hosts.begin(), inventory.hosts.end(),
                                     [](const Host& host) { return !host.pool.empty(); });
  if (!experiment.resource_pool.empty() && !has_pools)
    lines.push_back(fmt::format("resource_pool '{}' is ignored: no host names a pool",
                                experiment.resource_pool));
  warn_of_slots(experiment, trial, lines);
  warn_of_unchecked(experiment, trial, lines);
  warn_of_cpus_as_slots(experiment, inventory, trial, lines);
  return lines;
}

std::vector<std::string> batch_warnings(const ExperimentConfig& experiment, const Trial& trial) {
  std::vector<std::string> lines;
  if (trial.batch_sum != trial.global_batch_size)
    lines.push_back(fmt::format(
        "global_batch_size {} does not divide by {} workers: they take {} samples per step "
        "(batch_remainder: spread takes all)",
        *trial.global_batch_size, experiment.workers, *trial.batch_sum));
  return lines;
}

std::vector<std::string> advise(const ExperimentConfig& experiment, const HostInventory& inventory,
                                const Holdings& holdings, const HostSearch& search,
                                const Trial& trial) {
  std::vector<std::string> lines;
  advise_on_batch(experiment, trial, lines);
  advise_on_cpu_workers(experiment, trial, lines);
  advise_on_slot_type(trial, lines);
  advise_on_cpus_per_gpu(experiment, inventory, holdings, search, trial, lines);
  advise_on_hosts(experiment, search, trial, lines);
  return lines;
}

}  // namespace train
