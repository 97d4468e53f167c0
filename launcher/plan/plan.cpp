// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/plan.hpp"

namespace train {

int workers_of(const Trial& trial) {
  int workers = 0;
  for (const PlannedHost& host : trial.hosts) workers += host.worker_count;
  return workers;
}

std::vector<int> devices_of(const Host& host, const std::vector<int>& slots) {
  std::vector<int> devices;
  for (const int slot : slots) {
    const bool is_mapped = slot < static_cast<int>(host.device_indices.size());
    devices.push_back(is_mapped ? host.device_indices[slot] : slot);
  }
  return devices;
}

}  // namespace train
