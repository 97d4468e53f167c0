// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/plan/plan.hpp"

namespace train {

/// More than any host has of one maker; one that says more is not believed.
inline constexpr std::size_t most_gpus = 1024;

/// The GPUs of a host that ranks may use there, as its agent counted them without their drivers'
/// libraries.
struct HostGpus {
  /// Why the count says nothing.
  enum class Obstacle {
    none,
    mig_in_session,   ///< the session's CUDA_VISIBLE_DEVICES names instances of MIG
    uuids_not_shown,  ///< it names UUIDs, and the driver does not show them
    driver_unknown,   ///< GPUs that only the driver's library knows (WSL, Tegra)
  };

  /// NVIDIA's whole GPUs: CUDA's numbers with CUDA_DEVICE_ORDER=PCI_BUS_ID, in the order of the
  /// session's CUDA_VISIBLE_DEVICES.
  std::vector<int> cuda = {};
  std::vector<int> rocm = {};  ///< AMD's, by the numbers of ROCR_VISIBLE_DEVICES
  int split = 0;               ///< NVIDIA's that are in MIG mode, and so no whole devices
  int hidden = 0;              ///< that are there, and that the session may not use
  Obstacle obstacle = Obstacle::none;

  /// How many there are: of whichever maker it has more.
  std::size_t count() const { return std::max(cuda.size(), rocm.size()); }

  bool operator==(const HostGpus&) const = default;
};

/// What slots are that only a launch could know (`slot_type: auto`).
enum class SlotMeaning { places, cuda, rocm };

/// "places", "cuda", "rocm".
std::string_view to_string(SlotMeaning meaning);
std::optional<SlotMeaning> slot_meaning_of(std::string_view word);

/// How many devices a host must have for all of its slots to be some.
int needed_gpus(const Host& host);

/// Why the host cannot serve its ranks: it lacks GPUs that the plan gives them, or has some, but
/// fewer than slots of which nobody said what they are. Nothing: it can. Not for devices that
/// agents do not count (TPUs, other makers) and those that the launcher counted itself.
std::optional<Diagnostic> gpu_obstacle(const PlannedHost& host, CollectiveBackend backend,
                                       const HostGpus& found);

/// What slots that were asked for at launch are, in the whole trial: the same on all its hosts, or
/// an error of class `host` with the numbers of each. Nothing when all slots were known before.
/// `found` is by node rank; `gpu_obstacle` had nothing to say of any.
Result<std::optional<SlotMeaning>> slot_meaning(const Trial& trial,
                                                const std::vector<HostGpus>& found);

/// The same for a host whose GPUs the launcher has counted itself, and found too few.
std::optional<Diagnostic> too_few_gpus(const Host& host);

}  // namespace train
