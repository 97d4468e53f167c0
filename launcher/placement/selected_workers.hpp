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

/// Gives places on hosts to workers of several kinds, where each place serves only some kinds. A
/// worker that has a place is moved to another one where that makes room for more. A place is
/// refused only when it cannot be used beside those that were taken before, however these are given
/// out. So places that are offered in order of preference end up as the best set that there is
/// (sets of usable places are the independent sets of a transversal matroid).
class KindMatching {
 public:
  explicit KindMatching(std::vector<int> workers_of_kind);

  /// Takes as many of `places` as can be used, and says how many. `kinds` are those that the places
  /// serve: bit k for kind k. Once it takes fewer than it is offered of some kinds, it never takes
  /// another place of just these kinds.
  int take(std::uint64_t kinds, int places = 1);
  /// All workers have a place.
  bool is_done() const { return left_ == 0; }
  /// Workers without a place.
  int left() const { return left_; }

 private:
  struct Step {
    std::uint64_t mask = 0;  // the place that comes to serve this kind
    int before = -1;         // the kind that it served; -1: a new place
  };
  int take_some(std::uint64_t kinds, int places);
  int move_along(const std::vector<Step>& reached, int kind, int places);

  std::vector<int> missing_;  // workers of each kind without a place
  int left_ = 0;
  std::map<std::uint64_t, std::vector<int>> given_;  // places of each mask, by the kind they serve
};

/// Hosts that are all the same to the search, in the order in which they are taken.
struct HostGroup {
  std::uint64_t kinds = 0;  ///< of workers that they take: bit k for kind k
  int size = 0;             ///< workers that one of them takes, >= 1
  std::vector<std::size_t> hosts;
};

/// Searches for a set of hosts with room for workers of several kinds, depth first over how many
/// hosts of each group are taken. A branch is left out where even all the hosts that are left have
/// too few places that the workers can use. Exact within a bound of work over all calls.
class HostSetSearch {
 public:
  /// `groups` by size, largest first. `wholly`: every place of every host taken is to be used.
  HostSetSearch(const std::vector<HostGroup>& groups, const std::vector<int>& workers_of_kind,
                bool wholly);

  /// Exactly this many hosts; of all sets that serve, the one with the most of the first groups.
  std::optional<std::vector<std::size_t>> find(int hosts);
  /// The last `find` ended at the bound: it found none, and there may be one.
  bool is_given_up() const { return offers_ >= most_offers; }

 private:
  // How often places are offered to the matching, over all calls. Nearly all the time goes there:
  // some tenths of a second for this many.
  static constexpr int most_offers = 200'000;

  bool take(std::size_t index, int hosts, const KindMatching& matching);
  bool may_serve(std::size_t index, int hosts, KindMatching matching);

  const std::vector<HostGroup>& groups_;
  KindMatching nothing_taken_;
  bool wholly_;
  int offers_ = 0;
  std::vector<std::size_t> taken_;
};

/// Workers whose label selectors differ. A host takes workers of some kinds, of others not.
struct SelectedWorkers {
  std::vector<int> of_kind;          ///< workers of each different selector, at most 64 of these
  std::vector<std::uint64_t> kinds;  ///< of every host: bit k when it takes workers of kind k

  /// All workers select alike, so that choosing hosts is choosing numbers.
  bool are_alike() const { return of_kind.size() < 2; }
};

SelectedWorkers select_workers(const ExperimentConfig& experiment, const HostInventory& inventory);

/// `choose_hosts` for workers whose selectors differ, without a trainer. Whether there is a
/// placement under `in_order`, `spread`, `strict_spread`, `strict_pack`, on one host, and under
/// `pack` is found exactly; the fewest hosts of `pack` and the whole hosts of `auto` by a
/// `HostSetSearch`: beyond its bound `pack` uses more hosts and `auto` finds none.
std::optional<WorkerCounts> choose_for_selected(const std::vector<Room>& rooms,
                                                const SelectedWorkers& workers,
                                                const PlacementRule& rule);

}  // namespace train
