// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/placement/host_search.hpp"
#include "launcher/plan/summaries.hpp"

namespace train {

/// Words about a search that found no placement: the request, and what the hosts have of the
/// resource that is short under the failed constraint. The search and its inputs must outlive this
/// object.
class SearchWords {
 public:
  SearchWords(const ExperimentConfig& experiment, const HostInventory& inventory,
              const HostSearch& search);

 protected:
  const Host& host(int index) const { return inventory_.hosts[index]; }
  const Room& room(int index) const { return search_.failed_rooms[index]; }
  SlotSupply supply(int index) const { return slot_supply(host(index), experiment_.needs); }

  /// "4 slots asked", "2 workers of 8 GiB each asked".
  std::string asked() const;
  /// "2 workers": all of the trial.
  std::string workers_text() const;
  /// What one worker needs of the short resource; empty if it has no named need.
  std::string share() const;
  /// The number of workers that fit on a host, and its amount of the short resource: "2 (4 GPUs)".
  std::string room_of(int index) const;
  /// The same for each eligible host.
  std::string room_of_all() const;
  /// The number of workers that fit on all these hosts together.
  std::int64_t total() const;
  /// "the 2 hosts have", "node01 has": the hosts that satisfy pool, type and labels.
  std::string subject(const std::string& verb_of_one, const std::string& verb_of_many) const;
  /// "no host is": for a pool, type or label that no host has, or too few hosts for one worker
  /// each.
  std::string lacks_enough(const std::string& one, const std::string& many) const;

  /// The hosts by one property, for a property that none of them has as required.
  template <class Property>
  std::string inventory_by(Property property) const {
    std::vector<HostAmount> amounts;
    for (const Host& each : inventory_.hosts) amounts.push_back({each.name, property(each)});
    return list_amounts(amounts);
  }

  const ExperimentConfig& experiment_;
  const HostInventory& inventory_;
  const HostSearch& search_;
  const Constraint& constraint_;
  bool counts_slots_;  ///< every worker takes one slot: slots and workers are equal in number

 private:
  bool workers_are_slots() const;
  bool uses_cpus() const;
  std::string slot_word() const;
  std::string owned(int index) const;
  std::string selection() const;
};

/// "16 GiB", "1.5 GiB", "500 MiB".
std::string memory_text(std::uint64_t bytes);

/// For hosts without a declared number of slots: how they are counted, and how to declare it.
/// `hosts` are their names, at least one.
std::string undeclared_slots_text(const std::vector<std::string>& hosts);

}  // namespace train
