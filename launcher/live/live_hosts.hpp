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

/// What the slots of a host are to whoever looks at it without an experiment.
enum class LiveSlotKind { gpus, devices, places, cpus };
/// "gpus", "devices", "places", "cpus".
std::string_view to_string(LiveSlotKind kind);

/// Who has how much of a slot.
struct SlotShare {
  std::size_t holder = 0;  ///< index into `HostReport::holders`
  Quantity amount = {};    ///< at most 1

  bool operator==(const SlotShare&) const = default;
};

/// The slots of a host, each once, whatever it was taken as.
struct LiveSlots {
  LiveSlotKind kind = LiveSlotKind::places;
  std::vector<std::vector<SlotShare>> slots = {};  ///< by index; empty: nobody has any of it
  /// By holder: what it has of the host that is none of these slots.
  std::vector<std::vector<LeaseHolder::Held>> beside = {};

  bool operator==(const LiveSlots&) const = default;
};

/// A slot is held by whoever holds its GPU, its device or its place. The slots are those that the
/// host declares, else its GPUs, else its CPUs: these are not told apart, so the first ones are
/// those that are held. There are more where somebody holds slots beyond them.
LiveSlots live_slots(const Host& host, const HostReport& report);

/// A host that was asked.
struct LiveHost {
  Host host;
  Result<HostReport> report;  ///< or why it does not answer
  LiveSlots slots = {};       ///< none where nobody knows who holds them
  /// The first host that is the same machine under another name, or shares its leases; empty: none.
  std::string same_as = {};

  bool is_reachable() const { return static_cast<bool>(report); }
  /// Whether it is known who holds what.
  bool is_known() const { return report && report->lease_trouble.empty(); }
};

/// `reports` are by host.
std::vector<LiveHost> live_hosts(const std::vector<Host>& hosts,
                                 std::vector<Result<HostReport>> reports);

/// Whether all who have anything of a slot are processes outside of train.
bool is_foreign(const LiveHost& host, const std::vector<SlotShare>& shares);

/// How many slots nobody has any of, and how many only processes outside of train use.
std::size_t free_slots(const LiveHost& host);
std::size_t foreign_slots(const LiveHost& host);

/// The type of its GPUs, as the hosts file or else their driver says; empty: not known.
std::string gpu_type_of(const LiveHost& host);

/// For each task that holds something of the host without a lock, that somebody has removed the
/// file with it; not escaped.
std::vector<std::string> lost_locks(const LiveHost& host);

/// What is to be said of a host beside who holds which slot, a few words each, not escaped: that it
/// cannot be reached, that nobody knows what is held, that it is the same as another, what is held
/// that is no slot, or without a lock.
std::vector<std::string> live_notes(const LiveHost& host);

}  // namespace train
