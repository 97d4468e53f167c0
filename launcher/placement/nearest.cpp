// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/nearest.hpp"

#include <algorithm>
#include <optional>

#include "launcher/placement/what_fits.hpp"
#include "launcher/plan/batch.hpp"

namespace train {
namespace {

// Steps of the search in each direction: a few tens of milliseconds.
constexpr std::int64_t most_steps = 20'000'000;

// What a request for so many workers says; nothing when that is no whole number of slots.
std::optional<int> count_of(const ExperimentConfig& experiment, int workers) {
  if (!experiment.counts_slots || experiment.needs.slots.is_zero()) return workers;
  const Quantity slots = experiment.needs.slots * workers;
  if (!slots.is_whole() || slots.whole() > unlimited_workers) return std::nullopt;
  return static_cast<int>(slots.whole());
}

// Slices are laid out by a rule of their own, and a host that the workers alone do not fill may be
// filled with the trainer: anything may fit until it is tried.
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
        what_fits_(search.rooms, loosest_rule(experiment)) {}

  std::optional<int> below() const {
    return walk(std::min(experiment_.workers - 1, what_fits_.most()), -1);
  }
  std::optional<int> above() const { return walk(experiment_.workers + 1, 1); }

 private:
  std::optional<int> walk(int from, int step) const {
    const auto cost = static_cast<std::int64_t>(what_fits_.cost());
    std::int64_t budget = most_steps;
    for (int workers = from; workers >= 1 && workers <= what_fits_.most(); workers += step) {
      if ((budget -= cost) < 0) break;
      const auto count = count_of(experiment_, workers);
      if (!count || !what_fits_.fits(workers)) continue;
      if (!batch_obstacle(experiment_, workers).empty()) continue;
      if (place_again(experiment_, search_, workers)) return count;
      // What is left to the trainer or to slices may fail often, and each try looks at all hosts.
      budget -= static_cast<std::int64_t>(search_.rooms.size());
    }
    return std::nullopt;
  }

  const ExperimentConfig& experiment_;
  const HostSearch& search_;
  WhatFits what_fits_;
};

}  // namespace

std::vector<int> nearest_counts(const ExperimentConfig& experiment, const HostSearch& search) {
  std::vector<int> nearest;
  if (!search.selected.are_alike()) return nearest;  // there is a selector for each worker
  const CountSearch counts(experiment, search);
  if (const auto below = counts.below()) nearest.push_back(*below);
  if (const auto above = counts.above()) nearest.push_back(*above);
  return nearest;
}

}  // namespace train
