// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "launcher/capacity/whole_hosts.hpp"
#include "launcher/placement/host_search.hpp"
#include "launcher/plan/plan.hpp"

namespace train {

/// The numbers of workers that fit, computed without placing them. Ignores the trainer: with a
/// trainer, a number that fits here may still not fit.
class FittingCounts {
 public:
  FittingCounts(const std::vector<Room>& rooms, const PlacementRule& rule);

  bool fits(int workers) const;
  /// The largest number that fits.
  int most() const { return most_; }
  /// Steps of one call of `fits`, for callers that limit their search.
  std::size_t cost() const { return 1 + sizes_.size(); }

 private:
  int on_one_host_ = 0;
  int most_ = 0;
  bool is_monotone_ = true;       ///< every number up to `most_` fits
  std::vector<SizeGroup> sizes_;  ///< whole hosts, largest first
  std::vector<bool> reached_;     ///< sums of whole hosts; empty if they must not be mixed
};

/// The nearest counts below and above the experiment's that fit on these hosts and whose batch can
/// be split, ascending; each was checked by placing it. They are in the unit of the request: whole
/// slots of the trial, or workers if the request counts them or they take no slots. Each search is
/// limited; one that reaches its limit adds no count.
std::vector<int> nearest_counts(const ExperimentConfig& experiment, const HostSearch& search);

/// The largest number of workers below the experiment's, and not below its `least_workers`, that
/// fits where the search has looked, and whose batch can be split. Nothing: none does.
std::optional<int> most_remaining_workers(const ExperimentConfig& experiment,
                                          const HostSearch& search);

/// The maximum number of such workers that the idle hosts could take under the experiment's policy:
/// the meaning of "all slots" for a command without a number. 1 if workers take no counted
/// resource, and if not even one fits, which its placement then explains.
int workers_on_all_slots(const ExperimentConfig& experiment, const HostInventory& inventory);

/// How many trials like this one fit in the rooms of a search that found a placement, and how many
/// of them run at once: `max_concurrent_trials`, `max_slots` (Determined) and the number of trials
/// limit them. With whole hosts of several sizes, trials are placed one after the other and more
/// may fit in another order: then `is_at_least` is set. `placed`: the number that was really placed
/// side by side, with their trainers.
TrialCounts trials_at_once(const ExperimentConfig& experiment, const HostSearch& search,
                           std::optional<std::int64_t> placed = {});

}  // namespace train
