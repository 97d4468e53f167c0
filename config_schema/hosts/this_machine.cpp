// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hosts/this_machine.hpp"

namespace train {
namespace {

void complete_gpus(Host& host, const std::vector<ThisMachine::Gpu>& gpus) {
  if (maker_of_devices(host) != AcceleratorMaker::nvidia) return;
  const auto found = static_cast<int>(gpus.size());
  if (!host.accelerators && found == 0 && says_devices(host)) return;
  if (!host.accelerators && found > 0 && found < host.slots.value_or(0)) {
    host.too_few_gpus = found;
    return;
  }
  if (!host.accelerators) host.accelerators = found;
  const auto count = static_cast<std::size_t>(*host.accelerators);
  if (count == 0 || gpus.size() < count) return;
  if (host.accelerator_type.empty()) host.accelerator_type = gpus.front().type;
  if (!host.device_indices.empty()) return;
  for (std::size_t i = 0; i < count; ++i) host.device_indices.push_back(gpus[i].index);
}

}  // namespace

HostInventory reached_inventory(HostInventory declared, const std::set<std::string>& addresses,
                                std::optional<TransportKind> remote) {
  for (Host& host : declared.hosts) {
    if (host.transport == TransportKind::automatic && addresses.count(host.address) > 0)
      host.transport = TransportKind::local;
    if (host.transport != TransportKind::local) host.transport = remote.value_or(host.transport);
    if (host.transport == TransportKind::automatic && !host.command.empty())
      host.transport = TransportKind::command;
    if (host.transport != TransportKind::command) host.command.clear();
  }
  return declared;
}

HostInventory complete_inventory(HostInventory declared, const ThisMachine& machine,
                                 std::optional<TransportKind> remote) {
  HostInventory reached = reached_inventory(std::move(declared), machine.addresses, remote);
  for (Host& host : reached.hosts) {
    if (host.transport != TransportKind::local) continue;
    if (!host.cpus) host.cpus = Quantity::of(machine.cpus);
    if (!host.memory) host.memory = machine.memory;
    complete_gpus(host, machine.gpus);
  }
  return reached;
}

}  // namespace train
