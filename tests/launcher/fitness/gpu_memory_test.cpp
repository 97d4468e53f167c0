// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/gpu_memory.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

DeviceFacts gpu(int index, std::uint64_t used_mebibytes) {
  DeviceFacts device;
  device.index = index;
  device.uuid = "GPU-" + std::to_string(index);
  device.memory_total = std::uint64_t{40} << 30;
  device.memory_used = used_mebibytes << 20;
  return device;
}

}  // namespace

TEST_CASE("memory of a GPU is free up to the share that may be in use") {
  const DeviceReport report{.devices = {gpu(0, 409), gpu(1, 410)}};
  CHECK(memory_in_use(report, {"GPU-0"}, 0.01).empty());
  CHECK(memory_in_use(report, {"GPU-0", "GPU-1"}, 0.01) == "0.4 of 40.0 GiB of GPU 1 are in use");
  CHECK(memory_in_use(report, {"GPU-0", "GPU-1"}, 0.011).empty());
  CHECK(memory_in_use(report, {"GPU-0"}, 0) == "0.4 of 40.0 GiB of GPU 0 are in use");
  CHECK(memory_in_use(report, {}, 0).empty());
}

TEST_CASE("who computes on a GPU is named, a few of them") {
  DeviceReport report{.devices = {gpu(0, 3'072)}};
  DeviceFacts& device = report.devices.front();
  device.processes = std::vector{DeviceProcess{4'711, {}}};
  CHECK(memory_in_use(report, {"GPU-0"}, 0.01) ==
        "3.0 of 40.0 GiB of GPU 0 are in use, by process 4711");
  device.processes = std::vector<DeviceProcess>(6);
  for (int i = 0; i < 6; ++i) (*device.processes)[static_cast<std::size_t>(i)].pid = i + 1;
  CHECK(memory_in_use(report, {"GPU-0"}, 0.01) ==
        "3.0 of 40.0 GiB of GPU 0 are in use, by processes 1, 2, 3, 4 and 2 more");
}

TEST_CASE("of many GPUs a few are named") {
  DeviceReport report;
  std::vector<std::string> all;
  for (int i = 0; i < 6; ++i) all.push_back(report.devices.emplace_back(gpu(i, 1'024)).uuid);
  CHECK(memory_in_use(report, all, 0.01) ==
        "1.0 of 40.0 GiB of GPU 0 are in use; 1.0 of 40.0 GiB of GPU 1 are in use; "
        "1.0 of 40.0 GiB of GPU 2 are in use; 1.0 of 40.0 GiB of GPU 3 are in use; and of 2 more");
}

TEST_CASE("a GPU of which the driver does not say how much is in use counts as free") {
  DeviceReport report{.devices = {gpu(0, 9'999)}};
  report.devices.front().memory_used.reset();
  CHECK(memory_in_use(report, {"GPU-0"}, 0.01).empty());
  report.devices.front().memory_used = 1;
  report.devices.front().memory_total.reset();
  CHECK(memory_in_use(report, {"GPU-0"}, 0.01).empty());
  CHECK(memory_in_use({}, {"GPU-0"}, 0.01).empty());
}
