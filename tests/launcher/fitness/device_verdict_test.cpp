// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/device_verdict.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

DeviceFacts healthy_gpu(int index) {
  DeviceFacts gpu;
  gpu.index = index;
  gpu.uuid = "GPU-" + std::to_string(index);
  gpu.name = "NVIDIA H100 80GB HBM3";
  gpu.pci_bus_id = "00000000:0" + std::to_string(index + 1) + ":00.0";
  gpu.memory_total = std::uint64_t{80} << 30;
  gpu.memory_free = std::uint64_t{79} << 30;
  gpu.memory_used = std::uint64_t{1} << 29;
  gpu.processes.emplace();
  gpu.ecc_uncorrected = 0;
  gpu.remapped = RemappedRows();
  gpu.clock_reasons = 0x5;  // idle, and within its power
  gpu.mig = false;
  gpu.nvlinks = NvLinks{18, 0};
  gpu.recovery_action = 0;
  return gpu;
}

struct GpuBench {
  std::vector<CheckedHost> hosts;

  GpuBench() {
    for (int i = 0; i < 2; ++i) {
      HostFitness fitness;
      fitness.host.gpus.cuda = {0, 1};
      fitness.devices = {"580.65.06", "13.0", "", {healthy_gpu(0), healthy_gpu(1)}};
      Host host;
      host.name = "node0" + std::to_string(i + 1);
      hosts.push_back({host, fitness, {}, {}});
    }
  }
  DeviceReport& report() { return hosts[1].fitness->devices; }
  DeviceFacts& gpu() { return report().devices[1]; }
  std::vector<std::string> found() const {
    std::vector<std::string> lines;
    for (const HostFinding& each : judge_devices(hosts)) {
      CHECK(each.host == 1);
      CHECK(each.check == "gpus");
      CHECK_FALSE(each.hint.empty());
      lines.push_back(std::string(to_string(each.fitness)) + ": " + each.message);
    }
    return lines;
  }
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("nothing is found at GPUs that are well, or of which nothing is told") {
  GpuBench bench;
  CHECK(bench.found().empty());
  bench.gpu() = DeviceFacts();
  bench.gpu().index = 1;
  CHECK(bench.found().empty());
  bench.hosts[1].fitness = fail(ErrorClass::host, "connection refused");
  CHECK(bench.found().empty());
}

TEST_CASE("a GPU that does not answer is unfit, and told how to be reset") {
  GpuBench bench;
  bench.gpu().trouble = "GPU is lost";
  CHECK(bench.found() == Lines{"unfit: GPU 1 does not answer: GPU is lost"});
  CHECK(judge_devices(bench.hosts).front().hint ==
        "reset it: 'nvidia-smi --gpu-reset -i 00000000:02:00.0', or reboot");
}

TEST_CASE("what the driver wants done is said") {
  GpuBench bench;
  bench.gpu().recovery_action = 1;
  CHECK(bench.found() == Lines{"unfit: the driver wants GPU 1 to be reset"});
  bench.gpu().recovery_action = 2;
  CHECK(bench.found() == Lines{"unfit: the driver wants a reboot for GPU 1"});
  CHECK(judge_devices(bench.hosts).front().hint == "reboot the host");
  bench.gpu().recovery_action = 4;
  CHECK(bench.found() == Lines{"unfit: the driver wants GPU 1 to be drained, and reset when idle"});
}

TEST_CASE(
    "rows of memory that wait for a reset are said, those that cannot be replaced are not fit") {
  GpuBench bench;
  bench.gpu().remapped->pending = true;
  bench.gpu().ecc_uncorrected = 2;
  CHECK(bench.found() ==
        Lines{"fit: GPU 1 replaces a bad row of memory at its next reset",
              "fit: GPU 1 has had 2 memory errors that could not be corrected since its driver "
              "was loaded"});
  CHECK(judge_devices(bench.hosts).front().hint ==
        "reset it when it is idle: 'nvidia-smi --gpu-reset -i 00000000:02:00.0', or reboot");
  bench.gpu().remapped->failed = true;
  bench.gpu().ecc_uncorrected = 0;
  CHECK(bench.found() == Lines{"unfit: GPU 1 has a row of memory that cannot be replaced"});
}

TEST_CASE("a GPU that its surroundings slow down is said") {
  GpuBench bench;
  bench.gpu().clock_reasons = clock_hardware_thermal | clock_hardware_slowdown;
  CHECK(bench.found() == Lines{"fit: GPU 1 is slowed down by heat"});
  bench.gpu().clock_reasons = clock_power_brake | clock_hardware_slowdown;
  CHECK(bench.found() == Lines{"fit: GPU 1 is slowed down by its power supply"});
}

TEST_CASE("links are held against those of most GPUs of the kind") {
  GpuBench bench;
  bench.gpu().nvlinks = NvLinks{17, 1};
  CHECK(bench.found() == Lines{"unfit: GPU 1 has 17 NVLinks up, and most of its kind have 18"});
  bench.gpu().name = "NVIDIA A100-SXM4-80GB";  // the only one
  CHECK(bench.found().empty());
}

TEST_CASE(
    "peer access is held against that of most GPUs of the kind, and missing everywhere a note") {
  GpuBench bench;
  for (CheckedHost& host : bench.hosts)
    for (DeviceFacts& gpu : host.fitness->devices.devices) gpu.peers = PeerAccess{1, 0, 0};
  CHECK(bench.found().empty());
  bench.gpu().peers = PeerAccess{0, 1, 4};
  CHECK(bench.found() ==
        Lines{"unfit: GPU 1 reads the memory of 0 others by itself, and most of its kind of 1: the "
              "driver's settings forbid it"});
  bench.gpu().name = "NVIDIA GeForce RTX 4090";  // the only one
  bench.gpu().peers = PeerAccess{0, 1, 2};
  CHECK(bench.found() ==
        Lines{"fit: peer access is off between some of its GPUs, so that NCCL copies through the "
              "host's memory: these GPUs do not support it"});
  bench.report().devices[0].name = bench.gpu().name;
  bench.report().devices[0].peers = PeerAccess{0, 1, 2};
  CHECK(bench.found() ==
        Lines{"fit: peer access is off between its GPUs, so that NCCL copies through the host's "
              "memory: these GPUs do not support it"});
}

TEST_CASE("an Xid of today is said, if it is not of a program's own") {
  GpuBench bench;
  bench.gpu().xid = LastXid{79, 125};
  CHECK(bench.found() == Lines{"fit: the kernel's log has Xid 79 of GPU 1, 2 min 5 s ago"});
  bench.gpu().xid = LastXid{79, 90'000};
  CHECK(bench.found().empty());
  bench.gpu().xid = LastXid{31, 5};
  CHECK(bench.found().empty());
}

TEST_CASE("memory that nobody is seen to use is said") {
  GpuBench bench;
  bench.gpu().memory_used = std::uint64_t{30} << 30;
  CHECK(bench.found() ==
        Lines{"fit: 30 GiB of GPU 1's 80 GiB are taken, and no process is seen to use them"});
  bench.gpu().processes = std::vector<DeviceProcess>{{4242, {}}};
  CHECK(bench.found().empty());
}

TEST_CASE("a driver that does not answer keeps GPUs from being used, and nothing else") {
  GpuBench bench;
  bench.report() = {"", "", "Driver/library version mismatch", {}};
  CHECK(bench.found() ==
        Lines{"unfit: NVIDIA's library does not answer: Driver/library version mismatch"});
  CHECK(judge_devices(bench.hosts).front().hint.starts_with("reboot it"));
  bench.hosts[1].fitness->host.gpus.cuda.clear();
  CHECK(bench.found() ==
        Lines{"fit: NVIDIA's library does not answer: Driver/library version mismatch"});
}

TEST_CASE("a driver that hangs is one of which nobody could tell, and a lost GPU is missed") {
  GpuBench bench;
  bench.report() = DeviceReport();
  bench.hosts[1].fitness->devices_trouble = "it has not ended within 15 s";
  CHECK(bench.found() == Lines{"unknown: it has not ended within 15 s"});
  bench.hosts[1].fitness->devices_trouble.clear();
  bench.report() = {"580.65.06", "13.0", "", {healthy_gpu(0)}};
  CHECK(bench.found() == Lines{"unfit: NVIDIA's library shows 1 of its 2 GPUs"});
}
