// SPDX-License-Identifier: Apache-2.0
#include "launcher/rendezvous/devices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/resources/tpu_topology.hpp"
#include "launcher/plan/slot_supply.hpp"

namespace train {
namespace {

// How the devices of one maker are restricted to a list.
struct DeviceList {
  const char* variable;
  const char* before = "";    // the indices
  bool may_be_empty = false;  // an empty list means no device, rather than all
  bool may_be_shared = true;  // several processes may have the same list
};

// Ray sets the same variables (its accelerator managers), except for AMD: ROCr's own list applies
// to every library of ROCm. A Neuron core belongs to one process.
DeviceList list_of(AcceleratorMaker maker) {
  switch (maker) {
    case AcceleratorMaker::amd:
      return {.variable = "ROCR_VISIBLE_DEVICES", .may_be_empty = true};
    case AcceleratorMaker::intel_gpu:
      return {.variable = "ONEAPI_DEVICE_SELECTOR", .before = "level_zero:"};
    case AcceleratorMaker::intel_gaudi:
      return {.variable = "HABANA_VISIBLE_MODULES"};
    case AcceleratorMaker::aws_neuron:
      return {.variable = "NEURON_RT_VISIBLE_CORES", .may_be_shared = false};
    case AcceleratorMaker::huawei_ascend:
      return {.variable = "ASCEND_RT_VISIBLE_DEVICES"};
    case AcceleratorMaker::nvidia:
      break;
  }
  return {.variable = "CUDA_VISIBLE_DEVICES", .may_be_empty = true};
}

// A plain host name with GPUs requested counts as one GPU, but its index is not declared.
bool indices_are_declared(const PlannedHost& host) {
  return host.slots_are_gpus &&
         (host.host.accelerators || host.host.slots || says_devices(host.host));
}

bool has_no_gpu(const RankView& view) {
  const SlotKind kind = slot_supply(view.host.host, view.plan.experiment.needs).kind;
  return view.plan.experiment.needs.slots.is_zero() || kind == SlotKind::cpus ||
         view.host.host.accelerators == 0;
}

// `auto`: one list for all ranks of a host if LOCAL_RANK is an index into it, else one list per
// rank. TensorFlow's workers know no LOCAL_RANK: each takes every device that it sees.
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

// The layout of a few chips on a host, in libtpu's form; libtpu finds it out itself for more chips.
// Source: Ray's TPU support (python/ray/_private/accelerators/tpu.py).
const char* bounds_of(std::size_t chips) {
  switch (chips) {
    case 1:
      return "1,1,1";
    case 2:
      return "1,2,1";
    default:
      return nullptr;
  }
}

bool is_tpu_host(const Host& host) { return is_tpu_type(host.accelerator_type); }

void add_chips(const RankView& view, const std::vector<int>& chips, Variables& variables) {
  const Host& host = view.host.host;
  const int of_host = host.accelerators.value_or(host.slots.value_or(0));
  if (chips.empty() || static_cast<int>(chips.size()) >= of_host) return;
  variables.set("TPU_VISIBLE_CHIPS", fmt::format("{}", fmt::join(chips, ",")));
  if (const char* bounds = bounds_of(chips.size())) {
    variables.set("TPU_CHIPS_PER_HOST_BOUNDS", bounds);
    variables.set("TPU_HOST_BOUNDS", "1,1,1");
  }
}

// A process does not share its chips, and counts them from 0.
void add_tpu_devices(const RankView& view, Variables& variables) {
  if (!indices_are_declared(view.host)) return;
  add_chips(view, devices_of(view.host.host, view.rank.slots), variables);
  const std::vector<int> positions = positions_in(view.rank.slots, view.rank.slots);
  variables.set("TRAIN_DEVICE_INDICES", fmt::format("{}", fmt::join(positions, ",")));
}

// The launch decides which of them are set, and how. Slots are named by their indices: their
// devices are in the order of the host.
void add_devices_at_launch(const RankView& view, Variables& variables) {
  const std::vector<int>& visible = is_shared(view.plan) ? view.host.slots : view.rank.slots;
  const std::string slots = fmt::format("{}", fmt::join(visible, ","));
  variables.set_at_launch("CUDA_VISIBLE_DEVICES", AtLaunch::cuda_devices, slots);
  variables.set_at_launch("ROCR_VISIBLE_DEVICES", AtLaunch::rocm_devices, slots);
  variables.set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  const std::string positions =
      fmt::format("{}", fmt::join(positions_in(visible, view.rank.slots), ","));
  const auto add_positions = [&](const char* name) {
    if (view.host.slots_are_gpus)
      variables.set(name, positions);
    else
      variables.set_at_launch(name, AtLaunch::device_positions, positions);
  };
  add_positions("TRAIN_DEVICE_INDICES");
  if (view.plan.experiment.framework == Framework::jax) add_positions("JAX_LOCAL_DEVICE_IDS");
}

}  // namespace

void add_devices(const RankView& view, Variables& variables) {
  if (is_tpu_host(view.host.host)) return add_tpu_devices(view, variables);
  if (view.host.devices_at_launch) return add_devices_at_launch(view, variables);
  const AcceleratorMaker maker = maker_of_devices(view.host.host);
  const DeviceList list = list_of(maker);
  if (!indices_are_declared(view.host)) {
    if (has_no_gpu(view) && list.may_be_empty) variables.set(list.variable, "");
    return;
  }
  const bool is_whole = list.may_be_shared && is_shared(view.plan);
  const std::vector<int>& visible = is_whole ? view.host.slots : view.rank.slots;
  variables.set(list.variable, fmt::format("{}{}", list.before,
                                           fmt::join(devices_of(view.host.host, visible), ",")));
  if (maker == AcceleratorMaker::nvidia) variables.set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  const std::string positions =
      fmt::format("{}", fmt::join(positions_in(visible, view.rank.slots), ","));
  variables.set("TRAIN_DEVICE_INDICES", positions);
  if (view.plan.experiment.framework == Framework::jax)
    variables.set("JAX_LOCAL_DEVICE_IDS", positions);
}

void add_slice(const RankView& view, Variables& variables) {
  const Trial& trial = view.plan.trial;
  if (view.host.slice < 0) return;
  const PlannedSlice& slice = trial.slices[static_cast<std::size_t>(view.host.slice)];
  std::string names;
  for (const int host : slice.hosts)
    names += (names.empty() ? "" : ",") + trial.hosts[static_cast<std::size_t>(host)].host.address;
  variables.set("TPU_WORKER_ID", fmt::format("{}", view.host.slice_worker));
  variables.set("TPU_WORKER_HOSTNAMES", std::move(names));
  if (trial.slices.size() < 2) return;
  variables.set_at_launch("MEGASCALE_COORDINATOR_ADDRESS", AtLaunch::megascale_address);
  variables.set_at_launch("MEGASCALE_PORT", AtLaunch::megascale_port);
  variables.set("MEGASCALE_NUM_SLICES", fmt::format("{}", trial.slices.size()));
  variables.set("MEGASCALE_SLICE_ID", fmt::format("{}", view.host.slice));
}

}  // namespace train
