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

/// The numbers of workers that fit, found without placing any. A trainer is not counted: with one,
/// what fits here may still not fit.
class FittingCounts {
 public:
  FittingCounts(const std::vector<Room>& rooms, const PlacementRule& rule);

  bool fits(int workers) const;
  /// No larger number fits.
  int most() const { return most_; }
  /// Steps that one `fits` takes, for callers that bound their search.
  std::size_t cost() const { return 1 + sizes_.size(); }

 private:
  int on_one_host_ = 0;
  int most_ = 0;
  bool is_monotone_ = true;       ///< everything up to `most_` fits
  std::vector<SizeGroup> sizes_;  ///< whole hosts, largest first
  std::vector<bool> reached_;     ///< sums of whole hosts; empty unless they may be mixed
};

/// The nearest counts below and above the experiment's that these hosts can take and whose batch
/// can be split, ascending, each checked by placing it. They are in the unit of the request: whole
/// slots of the trial, or workers where these are counted or take no slots. The search for each is
/// bounded; one that ends at its bound adds no count.
std::vector<int> nearest_counts(const ExperimentConfig& experiment, const HostSearch& search);

/// The most workers like these that the hosts could take under the experiment's policy while nobody
/// holds anything of them: what "all slots" means to a command that says no number. 1 where workers
/// take nothing that is counted, and where not one fits, which its placement then explains.
int workers_on_all_slots(const ExperimentConfig& experiment, const HostInventory& inventory);

/// How many trials like this one fit in the rooms of a search that found a placement, and how many
/// of them run at once: `max_concurrent_trials`, `max_slots` (Determined) and the number of trials
/// limit them. With whole hosts of several sizes trials are placed one after the other and more may
/// fit in another order: `is_at_least` says so. `placed`: so many were really placed beside each
/// other, with their trainers.
TrialCounts trials_at_once(const ExperimentConfig& experiment, const HostSearch& search,
                           std::optional<std::int64_t> placed = {});

}  // namespace train
