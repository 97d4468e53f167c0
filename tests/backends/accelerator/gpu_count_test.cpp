// SPDX-License-Identifier: Apache-2.0
#include "backends/accelerator/gpu_count.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/backends/accelerator/fake_host.hpp"
#include "tests/catch.hpp"

using namespace train;
using Uncounted = HostGpus::Obstacle;

namespace {

namespace fs = std::filesystem;

using Devices = std::vector<int>;
constexpr std::uint64_t gib = std::uint64_t{1} << 30;

}  // namespace

TEST_CASE("GPUs have a type where all are of one") {
  FakeHost host;
  CHECK(gpu_identities(host.files).cuda_type.empty());
  host.four_of_nvidia();
  CHECK(gpu_identities(host.files).cuda_type == "A100");
  host.write(host.files.proc + "/driver/nvidia/gpus/0000:05:00.0/information",
             "Model: NVIDIA H200\nGPU UUID: GPU-4\nDevice Minor: 4\n");
  host.device("nvidia4");
  CHECK(gpu_identities(host.files).cuda_type.empty());
}

TEST_CASE("a host without drivers has no GPUs") { CHECK(FakeHost().count() == HostGpus{}); }

TEST_CASE("NVIDIA's GPUs are counted in the order of the PCI bus") {
  FakeHost host;
  host.device("nvidiactl");
  for (const int minor : {0, 1, 2, 3}) host.device("nvidia" + std::to_string(minor));
  host.nvidia("0000:C1:00.0", 0);
  host.nvidia("0001:01:00.0", 1);
  host.nvidia("0000:21:00.0", 2);
  host.nvidia("0000:41:00.0", 3, "GPU-x", "GPU Excluded:\t Yes\n");
  host.write(host.files.proc + "/driver/nvidia/gpus/version");
  CHECK(host.count() == HostGpus{.cuda = {0, 1, 2}});
}

TEST_CASE("in a container only the GPUs count whose files are there") {
  FakeHost host;
  host.four_of_nvidia();
  fs::remove(host.files.dev + "/nvidia0");
  fs::remove(host.files.dev + "/nvidia2");
  CHECK(host.count() == HostGpus{.cuda = {0, 1}, .hidden = 2});
}

TEST_CASE("files that CUDA makes when it is used first need not be there yet") {
  FakeHost host;
  host.nvidia("0000:01:00.0", 0);
  CHECK(host.count() == HostGpus{.hidden = 1});  // a container without GPUs looks like that
  host.write(host.files.nvidia_modprobe);
  CHECK(host.count() == HostGpus{.hidden = 1});
  REQUIRE(::chmod(host.files.nvidia_modprobe.c_str(), 04755) == 0);
  CHECK(host.count() == HostGpus{.cuda = {0}});
}

TEST_CASE("the session's CUDA_VISIBLE_DEVICES cuts the list as CUDA does") {
  FakeHost host;
  host.four_of_nvidia();
  struct Row {
    std::string list;
    Devices cuda;
  };
  const Row row = GENERATE(values<Row>({
      {"2,3", {2, 3}},
      {"3,1,0", {3, 1, 0}},
      {"", {}},
      {"-1", {}},
      {"NoDevFiles", {}},
      {"0,9,1", {0}},
      {"1,1", {}},
      {"GPU-2abc,GPU-0", {2, 0}},
      {"GPU-2abc,1", {2}},
  }));
  CAPTURE(row.list);
  CHECK(host.count({{"CUDA_VISIBLE_DEVICES", row.list}}) ==
        HostGpus{.cuda = row.cuda, .hidden = 4 - static_cast<int>(row.cuda.size())});
}

TEST_CASE("a GPU with instances of MIG is no whole device") {
  FakeHost host;
  host.four_of_nvidia();
  const std::string capabilities = host.files.proc + "/driver/nvidia/capabilities";
  fs::create_directories(capabilities + "/gpu0/mig");  // it could have some
  host.write(capabilities + "/gpu2/mig/gi1/ci0/access");
  CHECK(host.count() == HostGpus{.cuda = {0, 1, 3}, .split = 1});
  CHECK(host.count({{"CUDA_VISIBLE_DEVICES", "2"}}) == HostGpus{.split = 1, .hidden = 3});
  const HostGpus of_session = host.count({{"CUDA_VISIBLE_DEVICES", "MIG-1234"}});
  CHECK(of_session.cuda.empty());
  CHECK(of_session.obstacle == Uncounted::mig_in_session);
}

TEST_CASE("UUIDs that the driver does not show are told, not taken for none") {
  FakeHost host;
  host.device("nvidiactl");
  host.device("nvidia0");
  host.nvidia("0000:01:00.0", 0, "GPU-" + std::string(36, '?'));
  CHECK(host.count({{"CUDA_VISIBLE_DEVICES", "GPU-1"}}).obstacle == Uncounted::uuids_not_shown);
  CHECK(host.count({{"CUDA_VISIBLE_DEVICES", "0"}}) == HostGpus{.cuda = {0}});
}

TEST_CASE("GPUs that only their driver can count are told, not taken for none") {
  FakeHost wsl;
  wsl.device("dxg");
  CHECK(wsl.count() == HostGpus{});
  wsl.write(wsl.files.wsl_library);
  CHECK(wsl.count().obstacle == Uncounted::driver_unknown);
  FakeHost tegra;
  tegra.device("nvhost-ctrl-gpu");
  CHECK(tegra.count().obstacle == Uncounted::driver_unknown);
}

TEST_CASE("AMD's GPUs are nodes of the driver with memory of their own") {
  FakeHost host;
  host.amd(0, 0, 64, 0);
  host.amd(1, 440, 0, 192 * gib, 128, 0xabc);
  host.amd(10, 440, 0, 192 * gib, 129, 0xdef);
  host.amd(2, 8, 0, gib / 2, 130);  // graphics of a processor
  host.amd(3, 8, 8, 64 * gib, 131);
  CHECK(host.count() == HostGpus{.hidden = 2});  // nobody may use the driver
  host.device("kfd");
  host.device("dri/renderD128");
  CHECK(host.count() == HostGpus{.rocm = {0}, .hidden = 1});
  host.device("dri/renderD129");
  CHECK(host.count() == HostGpus{.rocm = {0, 1}});
  CHECK(host.count({{"ROCR_VISIBLE_DEVICES", "1"}}) == HostGpus{.rocm = {1}, .hidden = 1});
  CHECK(host.count({{"ROCR_VISIBLE_DEVICES", "GPU-0000000000000def,GPU-0000000000000abc"}}) ==
        HostGpus{.rocm = {1, 0}});
  CHECK(host.count({{"ROCR_VISIBLE_DEVICES", "1,0"}, {"HIP_VISIBLE_DEVICES", "0"}}) ==
        HostGpus{.rocm = {1}, .hidden = 1});
  CHECK(host.count({{"CUDA_VISIBLE_DEVICES", ""}}) == HostGpus{.hidden = 2});
}
