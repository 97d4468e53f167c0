// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/gpu_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace train {

namespace {

constexpr std::size_t most_named = 4;

double gibibytes(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

std::string users_of(const DeviceFacts& device) {
  if (!device.processes || device.processes->empty()) return {};
  std::vector<std::int64_t> pids;
  for (const DeviceProcess& process : *device.processes)
    if (pids.size() < most_named) pids.push_back(process.pid);
  const std::size_t more = device.processes->size() - pids.size();
  return fmt::format(", by process{} {}{}", pids.size() == 1 ? "" : "es", fmt::join(pids, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

}  // namespace

std::string memory_in_use(const DeviceReport& report, const std::vector<std::string>& gpus,
                          double most_used) {
  std::vector<std::string> words;
  std::size_t more = 0;
  for (const DeviceFacts& device : report.devices) {
    if (std::find(gpus.begin(), gpus.end(), device.uuid) == gpus.end()) continue;
    if (!device.memory_used || !device.memory_total) continue;
    const double bound = most_used * static_cast<double>(*device.memory_total);
    if (static_cast<double>(*device.memory_used) <= bound) continue;
    if (words.size() == most_named)
      ++more;
    else
      words.push_back(fmt::format("{:.1f} of {:.1f} GiB of GPU {} are in use{}",
                                  gibibytes(*device.memory_used), gibibytes(*device.memory_total),
                                  device.index, users_of(device)));
  }
  if (more > 0) words.push_back(fmt::format("and of {} more", more));
  return fmt::format("{}", fmt::join(words, "; "));
}

}  // namespace train
