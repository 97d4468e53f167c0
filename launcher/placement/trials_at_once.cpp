// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/trials_at_once.hpp"

#include <algorithm>
#include <numeric>

#include "launcher/placement/policies.hpp"

namespace train {
namespace {

using Limit = TrialCounts::Limit;

struct Fit {
  std::int64_t trials = 0;
  bool is_at_least = false;
};

// Each trial on one host.
std::int64_t one_host_each(const std::vector<Room>& rooms, int workers) {
  return std::accumulate(
      rooms.begin(), rooms.end(), std::int64_t{0},
      [&](std::int64_t sum, const Room& room) { return sum + room.workers / workers; });
}

// One worker of a trial on a host: n trials fit when the hosts have room for n times as many
// workers, none of them with more than n of these.
std::int64_t one_worker_each(const std::vector<Room>& rooms, int workers) {
  const auto fits = [&](std::int64_t trials) {
    std::int64_t sum = 0;
    for (const Room& room : rooms) sum += std::min<std::int64_t>(room.workers, trials);
    return sum >= trials * workers;
  };
  std::int64_t fit = 0;
  std::int64_t too_many = 1 + one_host_each(rooms, 1) / workers;
  while (too_many - fit > 1) {
    const std::int64_t middle = fit + (too_many - fit) / 2;
    (fits(middle) ? fit : too_many) = middle;
  }
  return fit;
}

// Determined's rule: a host that holds a trial takes as many as it can, and smaller hosts of one
// size, wholly used, make up others. No host serves both ways.
std::int64_t by_determined(const std::vector<Room>& rooms, int workers) {
  std::int64_t fit = one_host_each(rooms, workers);
  for (const auto& [size, members] : whole_hosts(rooms))
    if (size < workers && workers % size == 0)
      fit += static_cast<std::int64_t>(members.size()) / (workers / size);
  return fit;
}

void take_away(std::vector<Room>& rooms, const std::vector<int>& counts,
               const PlacementRule& rule) {
  bool is_first = true;
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    if (counts[i] == 0) continue;
    Room& room = rooms[i];
    const int left = is_first && rule.has_trainer ? room.beside_trainer : room.workers;
    is_first = false;
    room.workers = std::max(0, left - counts[i]);
    room.free -= room.use * counts[i];
    room.fill = 0;
    // Whether a second trainer has room there is not looked into.
    room.beside_trainer = -1;
  }
}

// Trials laid one after the other, as launches would be.
Fit one_by_one(const HostSearch& search, int workers, const PlacementRule& rule) {
  std::vector<Room> rooms = search.rooms;
  constexpr std::int64_t most_steps = 20'000'000;
  const auto cost = static_cast<std::int64_t>(rooms.size()) + workers;
  Fit fit{.trials = 0, .is_at_least = true};
  for (std::int64_t steps = 0; steps < most_steps; steps += cost) {
    const auto counts = search.selected.are_alike()
                            ? choose_hosts(rooms, workers, rule)
                            : choose_for_selected(rooms, search.selected, rule);
    if (!counts) break;
    ++fit.trials;
    take_away(rooms, *counts, rule);
  }
  return fit;
}

Fit fit_of(const ExperimentConfig& experiment, const HostSearch& search) {
  const std::vector<Room>& rooms = search.rooms;
  const PlacementRule rule = rule_of(experiment);
  const int workers = experiment.workers;
  if (experiment.slices && !rule.has_trainer) {
    const auto whole =
        std::count_if(search.slices.begin(), search.slices.end(), [&](const TpuSliceHosts& slice) {
          return is_whole_slice(slice, *experiment.slices, rooms);
        });
    return {.trials = whole / experiment.slices->slices};
  }
  if (experiment.slices) return {.trials = 1, .is_at_least = true};
  if (rule.has_trainer || !search.selected.are_alike()) return one_by_one(search, workers, rule);
  if (rule.is_one_host()) return {.trials = one_host_each(rooms, workers)};
  switch (rule.policy) {
    case PlacementPolicy::strict_spread:
      return {.trials = one_worker_each(rooms, workers)};
    case PlacementPolicy::pack:
    case PlacementPolicy::spread:
      return {.trials = one_host_each(rooms, 1) / workers};
    case PlacementPolicy::strict_pack:
    case PlacementPolicy::automatic:
      break;
  }
  if (rule.allow_heterogeneous) {
    const Fit mixed = one_by_one(search, workers, rule);
    return {.trials = std::max(mixed.trials, by_determined(rooms, workers)), .is_at_least = true};
  }
  return {.trials = by_determined(rooms, workers)};
}

}  // namespace

TrialCounts trials_at_once(const ExperimentConfig& experiment, const HostSearch& search) {
  const Fit fit = fit_of(experiment, search);
  const SearchSize& size = experiment.search;
  TrialCounts counts{.trials = size.trials,
                     .fit = fit.trials,
                     .is_at_least = fit.is_at_least,
                     .at_once = fit.trials,
                     .limit = Limit::hosts};
  const auto limit_to = [&](std::optional<std::int64_t> most, Limit limit) {
    if (!most || *most >= counts.at_once) return;
    counts.at_once = *most;
    counts.limit = limit;
  };
  limit_to(size.most_at_once, Limit::max_concurrent_trials);
  // Trials without slots are not limited by slots.
  if (size.most_slots && !experiment.slots.is_zero())
    limit_to(Quantity::of(*size.most_slots).parts() / experiment.slots.parts(), Limit::max_slots);
  limit_to(size.trials, Limit::trials);
  return counts;
}

}  // namespace train
