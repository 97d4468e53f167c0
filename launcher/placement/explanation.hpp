// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "launcher/placement/host_search.hpp"
#include "launcher/plan/summaries.hpp"

namespace train {

/// Tells why a search found no placement: what was asked, and what the hosts have, in the words of
/// the first constraint that fails. What it tells of must outlive it.
class Explanation {
 public:
  Explanation(const ExperimentConfig& experiment, const HostInventory& inventory,
              const HostSearch& search)
      : experiment_(experiment),
        inventory_(inventory),
        search_(search),
        constraint_(search.constraints[search.failed]),
        rule_(rule_of(experiment)),
        counts_slots_(workers_are_slots()) {}

  /// The reason, and what might help when hosts say too little of themselves.
  std::vector<std::string> reasons() const;
  std::string first_reason() const;

 private:
  const Host& host(int index) const { return inventory_.hosts[index]; }
  const Room& room(int index) const { return search_.failed_rooms[index]; }
  SlotSupply supply(int index) const { return slot_supply(host(index), experiment_.needs); }

  // What a slot is called here.
  std::string slot_word() const {
    if (experiment_.needs.tpus_named) return "TPU chip";
    return experiment_.needs.gpus_named ? "GPU" : "slot";
  }

  // How the hosts differ in one property, for a property that none of them has right.
  template <class Property>
  std::string inventory_by(Property property) const {
    std::vector<HostAmount> amounts;
    for (const Host& each : inventory_.hosts) amounts.push_back({each.name, property(each)});
    return list_amounts(amounts);
  }

  // Which hosts are left (explanation.cpp).
  std::string pool_reason() const;
  std::string type_reason() const;
  std::string labels_reason() const;
  // What a host says of the labels that are selected by.
  std::string labels_of(const Host& each) const;

  // Too little, or in the wrong portions (explanation_of_shortage.cpp).
  std::string shortage_reason() const;
  std::string one_host_reason() const;
  std::string strict_spread_reason() const;
  // Enough in all, but not in whole hosts.
  std::string policy_reason() const;
  // Per size why its hosts do not make up the request.
  std::vector<std::string> sizes_text(const std::map<int, int, std::greater<>>& whole,
                                      int rest) const;

  // Hosts that must go together (explanation_of_shape.cpp).
  // There are places enough, but not on hosts that each worker selects.
  std::string selectors_reason() const;
  // The sum first: a host of rank 0 that has room for the trainer but not for a worker as well is
  // the rarer case.
  std::string trainer_reason() const;
  // Of the CPUs of a host, be they its slots or not.
  Quantity cpus_of_a_worker() const;
  std::string trainer_text() const;
  std::string room_beside_trainer() const;
  std::string slices_reason() const;
  // Why a slice is not whole.
  std::string slice_text(const TpuSliceHosts& slice) const;

  // Words for all of these (explanation.cpp).
  std::string asked() const;
  // What one worker takes of the resource that is short.
  std::string share() const;
  bool uses_cpus() const;
  // What one host has of the resource that is short.
  std::string owned(int index) const;
  std::string room_of(int index) const;
  std::int64_t total() const;
  std::string room_of_all() const;
  // "the 2 hosts have", "node01 has": of those that pool and type leave.
  std::string subject(const std::string& verb_of_one, const std::string& verb_of_many) const;
  std::string selection() const;
  // Pool and type fail only alone when no host is left, or too few for one worker each.
  std::string lacks_enough(const std::string& one, const std::string& many) const;
  // Every worker takes one slot, so slots and workers are the same number.
  bool workers_are_slots() const;
  void add_type_hint(std::vector<std::string>& lines) const;
  void add_slice_hint(std::vector<std::string>& lines) const;
  void add_cpu_hint(std::vector<std::string>& lines) const;
  void add_unsaid_hint(std::vector<std::string>& lines) const;

  const ExperimentConfig& experiment_;
  const HostInventory& inventory_;
  const HostSearch& search_;
  const Constraint& constraint_;
  PlacementRule rule_;
  bool counts_slots_;
};

/// "16 GiB", "1.5 GiB", "500 MiB".
std::string memory_text(std::uint64_t bytes);

}  // namespace train
