// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/placement/host_search.hpp"
#include "launcher/plan/summaries.hpp"

namespace train {

/// The words for a search that found no placement: what was asked, and what the hosts have of what
/// is short under the constraint that failed. The search and what it was made for must outlive it.
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
  /// What one worker takes of what is short; empty when it takes nothing by name.
  std::string share() const;
  /// For how many workers a host has room, and what it has of what is short: "2 (4 GPUs)".
  std::string room_of(int index) const;
  /// The same for each host that may be used.
  std::string room_of_all() const;
  /// For how many workers all these hosts have room.
  std::int64_t total() const;
  /// "the 2 hosts have", "node01 has": of the hosts that pool, type and labels leave.
  std::string subject(const std::string& verb_of_one, const std::string& verb_of_many) const;
  /// "no host is": of a pool, type or label that no host has, or too few for one worker each.
  std::string lacks_enough(const std::string& one, const std::string& many) const;

  /// How the hosts differ in one property, for a property that none of them has right.
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
  bool counts_slots_;  ///< every worker takes one slot: slots and workers are the same number

 private:
  bool workers_are_slots() const;
  bool uses_cpus() const;
  std::string slot_word() const;
  std::string owned(int index) const;
  std::string selection() const;
};

/// "16 GiB", "1.5 GiB", "500 MiB".
std::string memory_text(std::uint64_t bytes);

/// For hosts that declare no number of slots: what they count as, and how to declare it. `hosts`
/// are their names, at least one.
std::string undeclared_slots_text(const std::vector<std::string>& hosts);

}  // namespace train
