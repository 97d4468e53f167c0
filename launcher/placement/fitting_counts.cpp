// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/fitting_counts.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "config_schema/fields/field_table.hpp"
#include "launcher/plan/batch.hpp"

namespace train {

FittingCounts::FittingCounts(const std::vector<Room>& rooms, const PlacementRule& rule) {
  std::int64_t sum = 0;
  std::int64_t hosts = 0;
  for (const Room& room : rooms) {
    on_one_host_ = std::max(on_one_host_, room.workers);
    sum += room.workers;
    hosts += room.workers > 0 ? 1 : 0;
  }
  most_ = static_cast<int>(std::min<std::int64_t>(sum, unlimited_workers));
  if (rule.policy == PlacementPolicy::strict_spread)
    most_ = rule.is_single_node ? std::min(1, on_one_host_) : static_cast<int>(hosts);
  else if (rule.is_one_host())
    most_ = on_one_host_;
  is_monotone_ = rule.is_one_host() || rule.policy != PlacementPolicy::automatic;
  if (is_monotone_) return;
  sizes_ = sizes_of(whole_hosts(rooms));
  std::int64_t whole = 0;
  for (const SizeGroup& group : sizes_)
    whole += static_cast<std::int64_t>(group.size) * group.hosts;
  most_ = static_cast<int>(
      std::min<std::int64_t>(std::max<std::int64_t>(whole, on_one_host_), unlimited_workers));
  if (rule.allow_heterogeneous)
    reached_ = sums_of_hosts(sizes_, static_cast<int>(std::min<std::int64_t>(whole, most_)));
}

bool FittingCounts::fits(int workers) const {
  if (workers < 1 || workers > most_) return false;
  if (is_monotone_ || workers <= on_one_host_) return true;
  const bool on_equal = std::any_of(sizes_.begin(), sizes_.end(), [&](const SizeGroup& group) {
    return makes_up(workers, group.size, group.hosts);
  });
  if (on_equal) return true;
  return static_cast<std::size_t>(workers) < reached_.size() && reached_[workers];
}

namespace {

// Limit of steps for one search: a few tens of milliseconds.
constexpr std::int64_t most_steps = 20'000'000;

// The count in a request for this many workers; nothing if that is not a whole number of slots.
std::optional<int> count_of(const ExperimentConfig& experiment, int workers) {
  if (!experiment.counts_slots || experiment.needs.slots.is_zero()) return workers;
  const Quantity slots = experiment.needs.slots * workers;
  if (!slots.is_whole() || slots.whole() > unlimited_workers) return std::nullopt;
  return static_cast<int>(slots.whole());
}

// For slices, which have their own rule, and for a trainer, which may fill a host that the workers
// alone do not fill, any number may fit until it is tried.
PlacementRule loosest_rule(const ExperimentConfig& experiment) {
  PlacementRule rule = rule_of(experiment);
  const bool is_automatic = rule.policy == PlacementPolicy::automatic;
  if (experiment.slices || (is_automatic && rule.has_trainer))
    rule.policy = PlacementPolicy::spread;
  return rule;
}

class CountSearch {
 public:
  CountSearch(const ExperimentConfig& experiment, const HostSearch& search)
      : experiment_(experiment),
        search_(search),
        fitting_(search.rooms, loosest_rule(experiment)),
        below_(std::min(experiment.workers - 1, fitting_.most())) {}

  std::optional<int> below() const { return counted(walk(below_, -1, 1, true)); }
  std::optional<int> above() const { return counted(walk(experiment_.workers + 1, 1, 1, true)); }
  std::optional<int> most_below(int least) const { return walk(below_, -1, least, false); }

 private:
  std::optional<int> counted(std::optional<int> workers) const {
    return workers ? count_of(experiment_, *workers) : std::nullopt;
  }
  // `is_counted`: only numbers that are a whole count of the request.
  std::optional<int> walk(int from, int step, int least, bool is_counted) const {
    const auto cost = static_cast<std::int64_t>(fitting_.cost());
    std::int64_t budget = most_steps;
    for (int workers = from; workers >= least && workers <= fitting_.most(); workers += step) {
      if ((budget -= cost) < 0) break;
      if ((is_counted && !count_of(experiment_, workers)) || !fitting_.fits(workers)) continue;
      if (!batch_obstacle(experiment_, workers).empty()) continue;
      if (place_again(experiment_, search_, workers)) return workers;
      // With a trainer or slices this may fail often, and each try visits all hosts.
      budget -= static_cast<std::int64_t>(search_.rooms.size());
    }
    return std::nullopt;
  }

  const ExperimentConfig& experiment_;
  const HostSearch& search_;
  FittingCounts fitting_;
  const int below_;  ///< the largest number below the experiment's that may fit
};

}  // namespace

std::vector<int> nearest_counts(const ExperimentConfig& experiment, const HostSearch& search) {
  std::vector<int> nearest;
  if (!search.selected.are_alike()) return nearest;  // each worker has its own selector
  const CountSearch counts(experiment, search);
  if (const auto below = counts.below()) nearest.push_back(*below);
  if (const auto above = counts.above()) nearest.push_back(*above);
  return nearest;
}

std::optional<int> most_remaining_workers(const ExperimentConfig& experiment,
                                          const HostSearch& search) {
  return CountSearch(experiment, search).most_below(experiment.least_workers);
}

int workers_on_all_slots(const ExperimentConfig& experiment, const HostInventory& inventory) {
  const HostSearch search = search_hosts(experiment, inventory);
  const bool is_limited =
      std::none_of(search.rooms.begin(), search.rooms.end(),
                   [](const Room& room) { return room.workers >= unlimited_workers; });
  if (!is_limited) return 1;
  const int most = FittingCounts(search.rooms, rule_of(experiment)).most();
  return std::clamp(most, 1, static_cast<int>(most_workers));
}

namespace {

using Limit = TrialCounts::Limit;

struct Fit {
  std::int64_t trials = 0;
  bool is_at_least = false;
};

// Trials that each fit on one host.
std::int64_t one_host_each(const std::vector<Room>& rooms, int workers) {
  return std::accumulate(
      rooms.begin(), rooms.end(), std::int64_t{0},
      [&](std::int64_t sum, const Room& room) { return sum + room.workers / workers; });
}

// At most one worker of a trial per host: n trials fit if the hosts have room for n times as many
// workers, counting at most n per host.
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

// Determined's rule: a host with room for a whole trial takes as many as fit, and smaller hosts of
// one size, wholly used, form others. No host is used in both ways.
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
    // Whether a second trainer fits there is not checked.
    room.beside_trainer = -1;
  }
}

// Places trials one after the other, as launches would.
Fit one_by_one(const HostSearch& search, int workers, const PlacementRule& rule) {
  std::vector<Room> rooms = search.rooms;
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
    case PlacementPolicy::in_order:
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

TrialCounts trials_at_once(const ExperimentConfig& experiment, const HostSearch& search,
                           std::optional<std::int64_t> placed) {
  Fit fit = fit_of(experiment, search);
  if (placed) fit = {.trials = std::max(fit.trials, *placed), .is_at_least = true};
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
