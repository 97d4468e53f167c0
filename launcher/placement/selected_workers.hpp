// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/placement/policies.hpp"

namespace train {

/// Matches places on hosts with workers of several kinds, where each place serves only some kinds.
/// A worker with a place is moved to another one if that makes room for more. A place is refused
/// only if it cannot be used together with the places taken before, in any assignment. So places
/// that are offered in order of preference give the best possible set (sets of usable places are
/// the independent sets of a transversal matroid).
class KindMatching {
 public:
  explicit KindMatching(std::vector<int> workers_of_kind);

  /// Takes as many of `places` as can be used, and returns how many. `kinds` are the kinds that the
  /// places serve: bit k for kind k. After it has taken fewer than offered for a set of kinds, it
  /// never takes another place with exactly this set.
  int take(std::uint64_t kinds, int places = 1);
  /// Whether all workers have a place.
  bool is_done() const { return left_ == 0; }
  /// Workers without a place.
  int left() const { return left_; }

 private:
  struct Step {
    std::uint64_t mask = 0;  // mask of the place that changes to this kind
    int before = -1;         // the kind that it served before; -1: a new place
  };
  int take_some(std::uint64_t kinds, int places);
  int move_along(const std::vector<Step>& reached, int kind, int places);

  std::vector<int> missing_;  // workers of each kind without a place
  int left_ = 0;
  std::map<std::uint64_t, std::vector<int>> given_;  // places of each mask, by the kind they serve
};

/// Hosts that are equal for the search, in the order in which they are taken.
struct HostGroup {
  std::uint64_t kinds = 0;  ///< kinds of workers that they take: bit k for kind k
  int size = 0;             ///< workers per host, >= 1
  std::vector<std::size_t> hosts;
};

/// Searches for a set of hosts with room for workers of several kinds, depth first over the number
/// of hosts taken from each group. Skips a branch if even all remaining hosts have too few usable
/// places. Exact within a limit of work over all calls.
class HostSetSearch {
 public:
  /// `groups` must be sorted by size, largest first. `wholly`: every place of every host taken must
  /// be used.
  HostSetSearch(const std::vector<HostGroup>& groups, const std::vector<int>& workers_of_kind,
                bool wholly);

  /// Finds a set of exactly this many hosts; of all suitable sets, the one with the most hosts of
  /// the first groups.
  std::optional<std::vector<std::size_t>> find(int hosts);
  /// Whether the last `find` reached the limit: it found none, but there may be one.
  bool is_given_up() const { return offers_ >= most_offers; }

 private:
  // The maximum number of times that places are offered to the matching, over all calls. This takes
  // nearly all the time: some tenths of a second for this many.
  static constexpr int most_offers = 200'000;

  bool take(std::size_t index, int hosts, const KindMatching& matching);
  bool may_serve(std::size_t index, int hosts, KindMatching matching);

  const std::vector<HostGroup>& groups_;
  KindMatching nothing_taken_;
  bool wholly_;
  int offers_ = 0;
  std::vector<std::size_t> taken_;
};

/// Workers with different label selectors. A host takes only workers of some kinds.
struct SelectedWorkers {
  /// Number of workers for each different selector; at most 64 selectors.
  std::vector<int> of_kind;
  std::vector<std::uint64_t> kinds;  ///< of every host: bit k if it takes workers of kind k

  /// Whether all workers have the same selector, so that choosing hosts is choosing numbers.
  bool are_alike() const { return of_kind.size() < 2; }
};

SelectedWorkers select_workers(const ExperimentConfig& experiment, const HostInventory& inventory);

/// `choose_hosts` for workers with different selectors, without a trainer. Exact about whether
/// there is a placement for `in_order`, `spread`, `strict_spread`, `strict_pack`, one host, and
/// `pack`. The fewest hosts of `pack` and the whole hosts of `auto` come from a `HostSetSearch`:
/// beyond its limit, `pack` uses more hosts and `auto` finds none.
std::optional<WorkerCounts> choose_for_selected(const std::vector<Room>& rooms,
                                                const SelectedWorkers& workers,
                                                const PlacementRule& rule);

}  // namespace train
