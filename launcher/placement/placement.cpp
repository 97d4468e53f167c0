// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config_schema/resources/tpu_topology.hpp"
#include "launcher/placement/advice.hpp"
#include "launcher/placement/fitting_counts.hpp"
#include "launcher/placement/host_search.hpp"
#include "launcher/placement/refusal.hpp"
#include "launcher/plan/batch.hpp"
#include "launcher/plan/summaries.hpp"
#include "launcher/rendezvous/host_gpus.hpp"
#include "launcher/rendezvous/rank_environment.hpp"
#include "launcher/search/search_preview.hpp"
#include "launcher/search/trial_experiment.hpp"

namespace train {
namespace {

struct SlotsOfHost {
  std::vector<std::vector<int>> of_workers;
  std::vector<int> of_trainer;
};

std::vector<int> touched_cpus(Quantity begin, Quantity end) {
  std::vector<int> cpus;
  for (std::int64_t cpu = begin.whole(); Quantity::of(cpu) < end; ++cpu)
    cpus.push_back(static_cast<int>(cpu));
  return cpus;
}

// CPUs are allocated as a number. They are shown as if each worker had the next ones of the host
// (possibly a part of one), and the trainer those after them.
SlotsOfHost cpus_of_host(const HostView& view, const SlotSupply& supply, int workers,
                         Quantity of_trainer) {
  SlotsOfHost slots{.of_workers = std::vector<std::vector<int>>(workers), .of_trainer = {}};
  Quantity begin = supply.size - free_slots(view.host, supply, view.held);
  for (auto& of_worker : slots.of_workers) {
    if (supply.use.is_zero()) break;
    of_worker = touched_cpus(begin, begin + supply.use);
    begin = begin + supply.use;
  }
  if (!of_trainer.is_zero()) slots.of_trainer = touched_cpus(begin, begin + of_trainer);
  return slots;
}

SlotsOfHost slots_of_host(const HostView& view, const SlotSupply& supply, int workers,
                          const ExperimentConfig& experiment, bool has_trainer) {
  if (supply.kind == SlotKind::cpus)
    return cpus_of_host(view, supply, workers, has_trainer ? experiment.trainer.cpus : Quantity());
  SlotsOfHost slots{.of_workers = std::vector<std::vector<int>>(workers), .of_trainer = {}};
  TrainerSlots beside{slot_room(view.host, supply, view.held), {}};
  if (has_trainer && !experiment.trainer.gpus.is_zero()) beside = trainer_slots(view, experiment);
  slots.of_trainer = std::move(beside.slots);
  if (!supply.takes_singly() || supply.use.is_zero()) return slots;
  for (auto& of_worker : slots.of_workers) of_worker = beside.left.take(supply.use);
  return slots;
}

// Converts indices within the supply to the host's own: a filter may have removed some slots.
void rename_slots(SlotsOfHost& of_host, const std::vector<int>& left) {
  if (left.empty()) return;
  for (std::vector<int>& slots : of_host.of_workers)
    for (int& slot : slots) slot = left[static_cast<std::size_t>(slot)];
  for (int& slot : of_host.of_trainer) slot = left[static_cast<std::size_t>(slot)];
}

std::vector<int> united(const std::vector<std::vector<int>>& parts) {
  std::vector<int> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// `slots` are the host's own indices, by worker; or by rank, if the ranks of the host are placed
// already.
void add_host(Trial& trial, const ExperimentConfig& experiment, const Host& host, int workers,
              std::vector<std::vector<int>> slots) {
  const SlotSupply supply = slot_supply(host, experiment.needs);
  PlannedHost planned{.host = host,
                      .slots = united(slots),
                      .slots_are_gpus = supply.kind == SlotKind::devices,
                      .devices_at_launch = supply.asked_at_launch,
                      .first_rank = static_cast<int>(trial.ranks.size()),
                      .rank_count = workers,
                      .worker_count = workers};
  if (experiment.processes == Processes::per_host) {
    planned.rank_count = 1;
    slots = {planned.slots};
  }
  const int host_index = static_cast<int>(trial.hosts.size());
  if (trial.cross_sizes.size() < slots.size()) trial.cross_sizes.resize(slots.size());
  for (int local = 0; local < planned.rank_count; ++local)
    trial.ranks.push_back({.rank = planned.first_rank + local,
                           .local_rank = local,
                           .host = host_index,
                           .cross_rank = trial.cross_sizes[local]++,
                           .slots = std::move(slots[local]),
                           .batch_size = {},
                           .batch_offset = {}});
  trial.hosts.push_back(std::move(planned));
}

void place_on_host(Trial& trial, const ExperimentConfig& experiment, const HostView& view,
                   int workers) {
  SlotsOfHost of_host = slots_of_host(view, slot_supply(view.host, experiment.needs), workers,
                                      experiment, trial.hosts.empty());
  rename_slots(of_host, view.host.slot_indices);
  if (trial.hosts.empty()) trial.trainer_slots = std::move(of_host.of_trainer);
  // Ranks are sorted by their slots, also if held slots moved the first worker to a later one.
  std::sort(of_host.of_workers.begin(), of_host.of_workers.end());
  add_host(trial, experiment, view.host, workers, std::move(of_host.of_workers));
}

// Numbers slices by their first host, and the workers of a slice by their hosts.
void add_slices(Trial& trial, const std::vector<TpuSliceHosts>& slices,
                const std::vector<int>& counts) {
  std::vector<int> planned_index(counts.size(), -1);
  int next = 0;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0) planned_index[i] = next++;
  for (const TpuSliceHosts& slice : slices) {
    if (counts[static_cast<std::size_t>(slice.hosts.front())] == 0) continue;
    PlannedSlice planned{.name = slice.name, .hosts = {}};
    for (const int host : slice.hosts) {
      PlannedHost& used = trial.hosts[planned_index[static_cast<std::size_t>(host)]];
      used.slice = static_cast<int>(trial.slices.size());
      used.slice_worker = static_cast<int>(planned.hosts.size());
      planned.hosts.push_back(planned_index[static_cast<std::size_t>(host)]);
    }
    trial.slices.push_back(std::move(planned));
  }
}

void add_batch(Trial& trial, const ExperimentConfig& experiment) {
  trial.global_batch_size = experiment.global_batch_size;
  if (!experiment.global_batch_size) return;
  std::vector<double> weights;
  for (const PlannedHost& host : trial.hosts)
    weights.insert(weights.end(), host.worker_count, host.host.weight);
  const BatchShares shares = split_batch(experiment, weights);
  trial.batch_sum = shares.sum;
  trial.effective_batch_size = shares.effective;
  trial.per_slot_batch_size = shares.per_slot;
  auto share = shares.sizes.begin();
  std::uint64_t offset = 0;
  for (PlannedRank& rank : trial.ranks) {
    const PlannedHost& host = trial.hosts[rank.host];
    const int workers = host.rank_count == 1 ? host.worker_count : 1;
    rank.batch_offset = offset;
    for (int i = 0; i < workers; ++i) offset += *share++;
    rank.batch_size = offset - *rank.batch_offset;
  }
}

// RCCL uses NCCL's name.
bool speaks_nccl(const Host& host) {
  const AcceleratorMaker maker = maker_of_devices(host);
  return !is_tpu_type(host.accelerator_type) &&
         (maker == AcceleratorMaker::nvidia || maker == AcceleratorMaker::amd);
}

CollectiveBackend resolved_backend(const ExperimentConfig& experiment, const Trial& trial) {
  if (experiment.backend != CollectiveBackend::automatic) return experiment.backend;
  if (experiment.needs.slots < Quantity::of(1)) return CollectiveBackend::gloo;
  const auto all = [&](auto predicate) {
    return std::all_of(trial.hosts.begin(), trial.hosts.end(), predicate);
  };
  if (all([](const PlannedHost& host) { return host.slots_are_gpus && speaks_nccl(host.host); }))
    return CollectiveBackend::nccl;
  const bool is_open = all([](const PlannedHost& host) {
    return host.devices_at_launch || (host.slots_are_gpus && speaks_nccl(host.host));
  });
  return is_open ? CollectiveBackend::automatic : CollectiveBackend::gloo;
}

// Completes the trial once its hosts are placed; `counts` are the workers of each host of the
// inventory.
void complete(Trial& trial, const ExperimentConfig& experiment,
              const std::vector<TpuSliceHosts>& slices, const std::vector<int>& counts) {
  trial.slots = experiment.needs.slots * workers_of(trial);
  add_slices(trial, slices, counts);
  trial.world_size = static_cast<int>(trial.ranks.size());
  trial.backend = resolved_backend(experiment, trial);
  add_batch(trial, experiment);
}

Trial build_trial(const ExperimentConfig& experiment, const HostInventory& inventory,
                  const Holdings& holdings, const HostSearch& search) {
  Trial trial;
  if (experiment.processes == Processes::per_rank) trial.ranks.reserve(experiment.workers);
  for (std::size_t i = 0; i < search.counts.size(); ++i)
    if (search.counts[i] > 0)
      place_on_host(trial, experiment, {inventory.hosts[i], holdings.of(i)}, search.counts[i]);
  complete(trial, experiment, search.slices, search.counts);
  return trial;
}

// Whether placement could have chosen this for the host.
bool can_be(const HostPlace& place, const Host& host, const ExperimentConfig& experiment) {
  const std::size_t ranks = experiment.processes == Processes::per_host
                                ? 1
                                : static_cast<std::size_t>(std::max(0, place.workers));
  const Quantity size = slot_supply(host, experiment.needs).size;
  const auto is_there = [&](int slot) {
    const std::vector<int>& left = host.slot_indices;
    if (!left.empty()) return std::find(left.begin(), left.end(), slot) != left.end();
    return slot >= 0 && Quantity::of(slot) < size;
  };
  return place.workers > 0 && place.slots.size() == ranks &&
         std::all_of(place.slots.begin(), place.slots.end(), [&](const std::vector<int>& slots) {
           return std::all_of(slots.begin(), slots.end(), is_there);
         });
}

bool are_whole(const std::vector<TpuSliceHosts>& slices, const std::vector<int>& counts) {
  return std::all_of(slices.begin(), slices.end(), [&](const TpuSliceHosts& slice) {
    const auto used = std::count_if(slice.hosts.begin(), slice.hosts.end(), [&](int host) {
      return counts[static_cast<std::size_t>(host)] > 0;
    });
    return used == 0 || static_cast<std::size_t>(used) == slice.hosts.size();
  });
}

template <class T>
void append(std::vector<T>& all, std::vector<T> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// Moves the experiment's warnings out of the plan's copy of the experiment, so that each appears
// once.
void add_warnings(Plan& plan, const HostInventory& inventory) {
  plan.warnings = std::exchange(plan.experiment.warnings, {});
  append(plan.warnings, inventory.warnings);
  std::vector<std::string> lines = placement_warnings(plan.experiment, inventory, plan.trial);
  append(lines, batch_warnings(plan.experiment, plan.trial));
  append(lines, environment_warnings(plan));
  for (std::string& line : lines) plan.warnings.push_back({{}, {}, std::move(line), {}});
}

// NCCL needs a GPU of its own for every rank; with two ranks on one GPU the first collective fails.
std::string backend_obstacle(const ExperimentConfig& experiment, const Trial& trial) {
  if (experiment.backend != CollectiveBackend::nccl) return {};
  if (experiment.needs.slots.is_zero())
    return "backend nccl needs a GPU for every rank, and the workers ask for none (backend: gloo)";
  for (const PlannedHost& host : trial.hosts)
    if (!host.slots_are_gpus && (host.host.accelerators || (!host.host.slots && host.host.cpus)))
      return fmt::format(
          "backend nccl needs a GPU for every rank: the slots of {} are CPUs (GPU: 1 in "
          "resources_per_worker asks for GPUs)",
          host.host.name);
  for (const PlannedHost& host : trial.hosts)
    if (!speaks_nccl(host.host))
      return fmt::format("backend nccl needs NVIDIA or AMD GPUs: {} has {} (backend: auto)",
                         host.host.name, host.host.accelerator_type);
  for (const PlannedHost& host : trial.hosts)
    if ((host.slots_are_gpus || host.devices_at_launch) &&
        host.slots.size() < static_cast<std::size_t>(host.worker_count))
      return fmt::format(
          "backend nccl needs a GPU for every rank: {} workers of {} GPU share {} on {} "
          "(backend: gloo allows it)",
          host.worker_count, to_string(experiment.needs.slots), host.slots.size(), host.host.name);
  return {};
}

// Whether Ray's default trainer was not counted, because no host declares its CPUs.
bool has_uncounted_trainer(const ExperimentConfig& experiment, const HostInventory& inventory) {
  return experiment.trainer.is_default &&
         std::none_of(inventory.hosts.begin(), inventory.hosts.end(),
                      [](const Host& host) { return host.cpus.has_value(); });
}

// How many trials fit beside the first, each placed beside all earlier ones: only this shows where
// each one's trainer fits. Limited to a few tenths of a second.
std::int64_t place_beside(const Plan& plan, const HostInventory& inventory, Occupancy held) {
  constexpr std::size_t most_looks = 2'000'000;  // visits of hosts and of held parts
  const ExperimentConfig& experiment = plan.experiment;
  const std::int64_t wanted = experiment.search.trials.value_or(std::int64_t{1'000'000});
  std::int64_t placed = 1;
  Trial trial = plan.trial;
  for (std::size_t looks = 0; placed < wanted && looks < most_looks; ++placed) {
    append(held, occupancy_of(experiment, trial, "another trial"));
    looks += inventory.hosts.size() + held.size();
    auto next = place_trial(experiment, inventory, held);
    if (!next) break;
    trial = std::move(*next);
  }
  return placed;
}

// For a search, plans its first trial: the others need the same.
tl::expected<Plan, Refusal> plan_search(const ExperimentConfig& experiment,
                                        const HostInventory& inventory, const Occupancy& occupancy,
                                        const UserVariables& users) {
  auto preview = preview_search(*experiment.search_config);
  if (!preview) {
    const Diagnostic& why = preview.error().diagnostics.front();
    Refusal refusal{.reasons = {why.message}, .nearest = {}};
    if (!why.hint.empty()) refusal.reasons.push_back(why.hint);
    return tl::make_unexpected(std::move(refusal));
  }
  const ExperimentConfig first = trial_experiment(experiment, preview->first.front().sample);
  auto plan = make_plan(first, inventory, occupancy, users);
  if (plan) plan->search = std::move(*preview);
  return plan;
}

}  // namespace

std::optional<Trial> place_trial(const ExperimentConfig& experiment, const HostInventory& inventory,
                                 const Occupancy& occupancy) {
  const Holdings holdings(inventory, occupancy);
  const HostSearch search = search_hosts(experiment, inventory, holdings);
  if (!search.is_placed()) return std::nullopt;
  return build_trial(experiment, inventory, holdings, search);
}

std::optional<ExperimentConfig> shrink(const ExperimentConfig& experiment,
                                       const HostInventory& inventory, const Occupancy& occupancy) {
  if (experiment.least_workers == 0) return std::nullopt;
  const HostSearch search = search_hosts(experiment, inventory, {inventory, occupancy});
  const auto workers = most_remaining_workers(experiment, search);
  if (!workers) return std::nullopt;
  ExperimentConfig smaller = experiment;
  smaller.workers = *workers;
  smaller.slots = experiment.needs.slots * *workers;
  if (!smaller.label_selectors.empty()) smaller.label_selectors.resize(1);
  return smaller;
}

std::optional<Trial> trial_at(const ExperimentConfig& experiment, const HostInventory& inventory,
                              const TrialPlace& place) {
  Trial trial;
  std::vector<int> counts(inventory.hosts.size());
  std::int64_t workers = 0;
  std::size_t next = 0;  // they are in the order of the inventory
  for (const HostPlace& each : place.hosts) {
    while (next < counts.size() && inventory.hosts[next].name != each.host) ++next;
    if (next == counts.size() || !can_be(each, inventory.hosts[next], experiment))
      return std::nullopt;
    add_host(trial, experiment, inventory.hosts[next], each.workers, each.slots);
    workers += counts[next++] = each.workers;
  }
  const auto slices = experiment.slices ? slices_of(inventory) : std::vector<TpuSliceHosts>();
  const int least = experiment.least_workers > 0 ? experiment.least_workers : experiment.workers;
  if (workers < least || workers > experiment.workers || !are_whole(slices, counts))
    return std::nullopt;
  trial.trainer_slots = place.trainer_slots;
  complete(trial, experiment, slices, counts);
  return trial;
}

tl::expected<Plan, Refusal> make_plan(const ExperimentConfig& experiment,
                                      const HostInventory& inventory, const Occupancy& occupancy,
                                      const UserVariables& users) {
  if (inventory.hosts.empty())
    return tl::make_unexpected(Refusal{
        .reasons = {fmt::format("there are no hosts in {}", inventory.source)}, .nearest = {}});
  if (experiment.search_config) return plan_search(experiment, inventory, occupancy, users);
  if (has_uncounted_trainer(experiment, inventory)) {
    ExperimentConfig without = experiment;
    without.trainer = {};
    return make_plan(without, inventory, occupancy, users);
  }
  const Holdings holdings(inventory, occupancy);
  HostSearch search = search_hosts(experiment, inventory);
  if (std::string why = batch_obstacle(experiment, experiment.workers); !why.empty())
    return tl::make_unexpected(refuse(experiment, search, std::move(why)));
  if (!search.is_placed())
    return tl::make_unexpected(explain_refusal(experiment, inventory, search));
  if (!holdings.empty()) search = search_hosts(experiment, inventory, holdings);
  if (!search.is_placed())
    return tl::make_unexpected(explain_busy(experiment, inventory, search, occupancy));
  Plan plan{.experiment = experiment,
            .trial = build_trial(experiment, inventory, holdings, search),
            .trials = {},
            .user_variables = users};
  if (std::string why = backend_obstacle(experiment, plan.trial); !why.empty())
    return tl::make_unexpected(Refusal{.reasons = {std::move(why)}, .nearest = {}});
  for (const PlannedHost& host : plan.trial.hosts)
    if (const auto few = host.devices_at_launch ? too_few_gpus(host.host) : std::nullopt)
      return tl::make_unexpected(
          Refusal{.reasons = {fmt::format("'{}' {}", host.host.name, few->message), few->hint},
                  .nearest = {}});
  if (experiment.search.trials != 1 || experiment.search.ends_early) {
    std::optional<std::int64_t> placed;
    if (!experiment.trainer.empty()) placed = place_beside(plan, inventory, occupancy);
    plan.trials = trials_at_once(experiment, search, placed);
  }
  add_warnings(plan, inventory);
  plan.advice = advise(experiment, inventory, holdings, search, plan.trial);
  return plan;
}

}  // namespace train
