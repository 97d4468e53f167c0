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

/// More than any host has of one maker; a larger number is treated as an error.
inline constexpr std::size_t most_gpus = 1024;

/// The GPUs of a host that ranks may use, as counted by its agent without their drivers' libraries.
struct HostGpus {
  /// Why the count is not meaningful.
  enum class Obstacle {
    none,
    mig_in_session,   ///< the session's CUDA_VISIBLE_DEVICES names MIG instances
    uuids_not_shown,  ///< it names UUIDs, which the driver does not show
    driver_unknown,   ///< GPUs that only the driver's library can count (WSL, Tegra)
  };

  /// NVIDIA's whole GPUs: CUDA's numbers with CUDA_DEVICE_ORDER=PCI_BUS_ID, in the order of the
  /// session's CUDA_VISIBLE_DEVICES.
  std::vector<int> cuda = {};
  std::vector<int> rocm = {};  ///< AMD GPUs, by their numbers in ROCR_VISIBLE_DEVICES
  int split = 0;               ///< NVIDIA GPUs in MIG mode, which are not whole devices
  int hidden = 0;              ///< GPUs that exist but that the session may not use
  Obstacle obstacle = Obstacle::none;

  /// The number of GPUs of the maker with more.
  std::size_t count() const { return std::max(cuda.size(), rocm.size()); }

  bool operator==(const HostGpus&) const = default;
};

/// The meaning of slots that is known only at launch (`slot_type: auto`).
enum class SlotMeaning { places, cuda, rocm };

/// "places", "cuda", "rocm".
std::string_view to_string(SlotMeaning meaning);

/// How many devices a host must have for all of its slots to be devices.
int needed_gpus(const Host& host);

/// Why the host cannot serve its ranks: it has fewer GPUs than the plan uses, or it has some GPUs,
/// but fewer than its slots of unknown kind. Nothing: it can. Not for devices that agents do not
/// count (TPUs, other makers) and those that the launcher counted itself.
std::optional<Diagnostic> gpu_obstacle(const PlannedHost& host, CollectiveBackend backend,
                                       const HostGpus& found);

/// The meaning of slots that were queried at launch, for the whole trial: the same on all its
/// hosts, or an error of class `host` with the numbers of each. Nothing if all slots were known
/// before. `found` is by node rank; `gpu_obstacle` must be empty for all.
Result<std::optional<SlotMeaning>> slot_meaning(const Trial& trial,
                                                const std::vector<HostGpus>& found);

/// The same for a host whose GPUs the launcher has counted itself, and found too few.
std::optional<Diagnostic> too_few_gpus(const Host& host);

}  // namespace train
