// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/slot_supply.hpp"

#include <algorithm>

#include "config_schema/resources/tpu_topology.hpp"

namespace train {

namespace {

// The CPUs that a worker takes on a host whose slots are CPUs.
Quantity cpu_share(const WorkerNeeds& needs) {
  if (!needs.cpus.is_zero()) return needs.cpus;
  if (needs.slots.is_zero() && needs.cpus_named) return Quantity();
  return std::max(Quantity::of(1), needs.slots);
}

bool is_accelerator_host(const Host& host) { return host.accelerators.value_or(0) > 0; }

// Whoever opens a session of such a host, a scheduler or a container, may give it only some of the
// GPUs: slot i is the i-th of those.
bool has_gpus_of_session(const Host& host) {
  const AcceleratorMaker maker = maker_of_devices(host);
  return host.transport == TransportKind::command && host.device_indices.empty() &&
         (maker == AcceleratorMaker::nvidia || maker == AcceleratorMaker::amd);
}

SlotSupply supply_of_accelerator_host(const Host& host, const WorkerNeeds& needs) {
  if (needs.slots.is_zero())
    return {.kind = SlotKind::beside,
            .size = host.cpus.value_or(Quantity()),
            .use = host.cpus ? needs.cpus : Quantity()};
  const bool has_tpus = is_tpu_type(host.accelerator_type);
  if (has_tpus ? needs.gpus_named : needs.tpus_named)
    return {.kind = SlotKind::missing, .use = needs.slots};
  return {.kind = SlotKind::devices,
          .size = Quantity::of(*slot_count(host)),
          .use = needs.slots,
          .asked_at_launch = !has_tpus && has_gpus_of_session(host)};
}

SlotSupply supply_of_all(const Host& host, const WorkerNeeds& needs) {
  if (is_accelerator_host(host)) return supply_of_accelerator_host(host, needs);
  // TPU hosts declare their chips: slots of other hosts never count as chips.
  if (needs.tpus_named) return {.kind = SlotKind::missing, .use = needs.slots};
  const bool wants_gpus = needs.gpus_named && !needs.slots.is_zero();
  if (wants_gpus && (host.accelerators || (!host.slots && host.cpus)))
    return {.kind = SlotKind::missing, .use = needs.slots};
  if (!host.slots && host.cpus)
    return {.kind = SlotKind::cpus, .size = *host.cpus, .use = cpu_share(needs)};
  const bool are_devices = !needs.slots.is_zero() && (wants_gpus || says_devices(host));
  const bool is_unknown =
      !host.accelerators && host.accelerator_type.empty() && host.slot_type == SlotType::automatic;
  return {.kind = are_devices ? SlotKind::devices : SlotKind::places,
          .size = Quantity::of(host.slots.value_or(1)),
          .use = needs.slots.is_zero() ? Quantity::of(1) : needs.slots,
          .undeclared = !host.slots,
          .gpus_assumed = wants_gpus && is_unknown,
          .asked_at_launch = is_unknown && !needs.slots.is_zero()};
}

}  // namespace

SlotSupply slot_supply(const Host& host, const WorkerNeeds& needs) {
  SlotSupply supply = supply_of_all(host, needs);
  if (supply.has_slots() && !host.slot_indices.empty())
    supply.size = Quantity::of(static_cast<std::int64_t>(host.slot_indices.size()));
  return supply;
}

}  // namespace train
