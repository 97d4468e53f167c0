// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "launcher/placement/capacity.hpp"
#include "launcher/rendezvous/groups.hpp"

namespace train {
namespace {

bool is_amd(const Host& host) { return host.accelerator_type.rfind("AMD", 0) == 0; }

// A plain host name with GPUs asked for counts one GPU, but nobody said which.
bool indices_are_declared(const PlannedHost& host) {
  return host.slots_are_gpus && (host.host.accelerators || host.host.slots);
}

bool has_no_gpu(const RankView& view) {
  const SlotKind kind = slot_supply(view.host.host, view.plan.experiment.needs).kind;
  return view.plan.experiment.needs.slots.is_zero() || kind == SlotKind::cpus ||
         view.host.host.accelerators == 0;
}

// `auto`: one list for all ranks of a host where LOCAL_RANK is an index into it, else each its own.
// TensorFlow's workers know no LOCAL_RANK: each takes every device that it sees.
bool is_shared(const Plan& plan) {
  const ExperimentConfig& experiment = plan.experiment;
  if (experiment.visible_devices != VisibleDevices::automatic)
    return experiment.visible_devices == VisibleDevices::shared;
  return experiment.needs.slots == Quantity::of(1) && experiment.framework != Framework::tensorflow;
}

std::vector<int> positions_in(const std::vector<int>& all, const std::vector<int>& some) {
  std::vector<int> positions;
  positions.reserve(some.size());
  for (const int slot : some)
    positions.push_back(
        static_cast<int>(std::lower_bound(all.begin(), all.end(), slot) - all.begin()));
  return positions;
}

// A process has its chips for itself, and counts them from 0.
void add_tpu_devices(const RankView& view, Variables& variables) {
  if (!indices_are_declared(view.host)) return;
  add_chips(view, devices_of(view.host.host, view.rank.slots), variables);
  const std::vector<int> positions = positions_in(view.rank.slots, view.rank.slots);
  variables.set("TRAIN_DEVICE_INDICES", fmt::format("{}", fmt::join(positions, ",")));
}

}  // namespace

std::vector<int> devices_of(const Host& host, const std::vector<int>& slots) {
  std::vector<int> devices;
  for (const int slot : slots) {
    const bool is_mapped = slot < static_cast<int>(host.device_indices.size());
    devices.push_back(is_mapped ? host.device_indices[slot] : slot);
  }
  return devices;
}

void add_devices(const RankView& view, Variables& variables) {
  if (is_tpu_host(view.host.host)) return add_tpu_devices(view, variables);
  const bool amd = is_amd(view.host.host);
  const char* list_name = amd ? "ROCR_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES";
  if (!indices_are_declared(view.host)) {
    if (has_no_gpu(view)) variables.set(list_name, "");
    return;
  }
  const std::vector<int>& visible = is_shared(view.plan) ? view.host.slots : view.rank.slots;
  variables.set(list_name, fmt::format("{}", fmt::join(devices_of(view.host.host, visible), ",")));
  if (!amd) variables.set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  const std::string positions =
      fmt::format("{}", fmt::join(positions_in(visible, view.rank.slots), ","));
  variables.set("TRAIN_DEVICE_INDICES", positions);
  if (view.plan.experiment.framework == Framework::jax)
    variables.set("JAX_LOCAL_DEVICE_IDS", positions);
}

}  // namespace train
