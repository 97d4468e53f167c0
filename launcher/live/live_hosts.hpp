// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/talks/host_report.hpp"

namespace train {

/// The kind of a host's slots when there is no experiment.
enum class LiveSlotKind { gpus, devices, places, cpus };
/// "gpus", "devices", "places", "cpus".
std::string_view to_string(LiveSlotKind kind);

/// A holder's share of a slot.
struct SlotShare {
  std::size_t holder = 0;  ///< index into `HostReport::holders`
  Quantity amount = {};    ///< at most 1

  bool operator==(const SlotShare&) const = default;
};

/// The slots of a host, each once, whatever kind it was taken as.
struct LiveSlots {
  LiveSlotKind kind = LiveSlotKind::places;
  std::vector<std::vector<SlotShare>> slots = {};  ///< by index; empty: free
  /// By holder: what it holds on the host besides these slots.
  std::vector<std::vector<LeaseHolder::Held>> beside = {};

  bool operator==(const LiveSlots&) const = default;
};

/// A slot is held by the holder of its GPU, its device or its place. The slots are those that the
/// host declares, else its GPUs, else its CPUs. CPUs are not distinguished, so the first ones count
/// as held. There are more slots if holders hold slots beyond them.
LiveSlots live_slots(const Host& host, const HostReport& report);

/// A host that was asked for a report.
struct LiveHost {
  Host host;
  Result<HostReport> report;  ///< or the error
  LiveSlots slots = {};       ///< empty if it is not known who holds them
  /// The first host that is the same machine under another name, or shares its leases; empty: none.
  std::string same_as = {};

  bool is_reachable() const { return static_cast<bool>(report); }
  /// Whether it is known who holds what.
  bool is_known() const { return report && report->lease_trouble.empty(); }
};

/// `reports` are in the order of `hosts`.
std::vector<LiveHost> live_hosts(const std::vector<Host>& hosts,
                                 std::vector<Result<HostReport>> reports);

/// Whether all holders of a slot are processes outside of train.
bool is_foreign(const LiveHost& host, const std::vector<SlotShare>& shares);

/// The number of free slots, and of slots that only processes outside of train use.
std::size_t free_slots(const LiveHost& host);
std::size_t foreign_slots(const LiveHost& host);

/// The type of its GPUs, from the hosts file or else from their driver; empty: not known.
std::string gpu_type_of(const LiveHost& host);

/// A line for each task that holds something on the host without a lock, since the lock file was
/// removed; not escaped.
std::vector<std::string> lost_locks(const LiveHost& host);

/// Notes about a host besides the holders of its slots, a few words each, not escaped: that it
/// cannot be reached, that its leases are not known, that it is the same machine as another, or
/// that something is held that is not a slot, or without a lock.
std::vector<std::string> live_notes(const LiveHost& host);

}  // namespace train
