// SPDX-License-Identifier: Apache-2.0
#include "backends/accelerator/device_program.hpp"

#include <csignal>
#include <cstdlib>
#include <map>
#include <thread>

#include "backends/posix/child.hpp"
#include "backends/posix/connected_process.hpp"
#include "backends/posix/files.hpp"
#include "launcher/agent/gpu_use.hpp"
#include "launcher/frames/line_buffer.hpp"
#include "launcher/rendezvous/host_gpus.hpp"
#include "tests/backends/accelerator/fake_host.hpp"
#include "tests/catch.hpp"
#include "tests/contains.hpp"
#include "tests/support/waiting.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

// Far beyond what a busy machine takes.
constexpr milliseconds ample = 600s;

const std::string& program_bytes() {
  static const std::string bytes = read_small_file(TRAIN_DEVICES_PROGRAM, std::size_t{1} << 20);
  REQUIRE_FALSE(bytes.empty());
  return bytes;
}

using Pretended = std::map<std::string, std::string>;

// A host with NVIDIA's driver, whose library pretends this while it lives.
class DriverHost : public FakeHost {
 public:
  explicit DriverHost(Pretended pretended, const char* library = FAKE_NVML_FOLDER)
      : pretended_(std::move(pretended)) {
    pretended_["LD_LIBRARY_PATH"] = library;
    pretended_.try_emplace("FAKE_NVML_GPUS", "NVIDIA H100:2");
    for (const auto& [name, value] : pretended_) ::setenv(name.c_str(), value.c_str(), 1);
    four_of_nvidia();
  }
  ~DriverHost() {
    for (const auto& [name, value] : pretended_) ::unsetenv(name.c_str());
  }
  DriverHost(const DriverHost&) = delete;
  DriverHost& operator=(const DriverHost&) = delete;

  Result<DeviceReport> ask(milliseconds limit = ample) const {
    return ask_devices({program_bytes()}, limit, files);
  }
  DeviceReport report() const {
    const auto asked = ask();
    INFO((asked ? "" : render(asked.error())));
    REQUIRE(asked);
    return *asked;
  }
  std::string refusal(milliseconds limit = ample) const {
    const auto asked = ask(limit);
    REQUIRE_FALSE(asked);
    CHECK(asked.error().error_class == ErrorClass::host);
    return asked.error().diagnostics.front().message;
  }

 private:
  Pretended pretended_;
};

/// The program that writes what the GPUs do each second, and its lines.
class Watching {
 public:
  explicit Watching(const FakeHost& host) {
    auto started = start_gpu_watch({program_bytes()}, 1s, host.files);
    INFO((started ? "" : render(started.error())));
    REQUIRE(started);
    REQUIRE(*started);
    process = std::move(**started);
  }
  ~Watching() { end_connected(process); }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

  /// The next line; empty: the stream has ended.
  std::string line() {
    while (true) {
      if (const auto line = lines_.next()) return std::string(*line);
      REQUIRE(becomes_readable(process.stream.get()));
      char buffer[4'096];
      const ssize_t count = read_some(process.stream.get(), buffer, sizeof buffer);
      if (count <= 0) return {};
      lines_.feed({buffer, static_cast<std::size_t>(count)});
    }
  }
  std::vector<GpuUse> uses() {
    const auto uses = decode_gpu_uses(line());
    REQUIRE(uses);
    return *uses;
  }
  /// How it has ended by itself.
  ExitStatus end() {
    REQUIRE(eventually([&] { return has_ended(process.pidfd); }));
    const auto status = reap(process.pidfd.get(), {});
    process.pid = -1;
    REQUIRE(status);
    return **status;
  }

  ConnectedProcess process;

 private:
  LineBuffer lines_;
};

// None that still runs.
bool no_child_runs() { return !has_child() || ended_child() > 0; }

}  // namespace

TEST_CASE("a host without NVIDIA's driver is not asked, and has no devices") {
  const FakeHost host;
  const auto asked = ask_devices({"no program"}, ample, host.files);
  REQUIRE(asked);
  CHECK(*asked == DeviceReport());
}

TEST_CASE("healthy devices are described with all that the driver tells") {
  const DriverHost host(Pretended{{"FAKE_NVML_FACTS", "links=18,up=18"}});
  const DeviceReport report = host.report();
  CHECK(report.driver == "535.183.01");
  CHECK(report.cuda == "12.2");
  CHECK(report.trouble.empty());
  // Some machines have it.
  if (!report.verbs_trouble.empty()) CHECK(contains(report.verbs_trouble, "libibverbs.so.1"));
  REQUIRE(report.devices.size() == 2);
  CHECK(report.devices[1] == DeviceFacts{.index = 1,
                                         .uuid = "GPU-00000001-0000-4000-8000-000000000000",
                                         .name = "NVIDIA H100",
                                         .pci_bus_id = "00000000:02:00.0",
                                         .memory_total = 40ULL << 30,
                                         .memory_free = 39ULL << 30,
                                         .memory_used = 0,
                                         .processes = std::vector<DeviceProcess>(),
                                         .ecc_uncorrected = 0,
                                         .remapped = RemappedRows(),
                                         .clock_reasons = 0,
                                         .mig = false,
                                         .nvlinks = NvLinks{18, 0},
                                         .peers = PeerAccess{1, 0, 0},
                                         .recovery_action = 0});
  CHECK_FALSE(has_child());
}

TEST_CASE("what a display server has of a GPU's memory does not count as used") {
  const DriverHost drawing(Pretended{{"FAKE_NVML_FACTS", "used=6,display=2"}});
  CHECK(drawing.report().devices.at(0).memory_used == 2ULL << 30);  // 1 GiB is the driver's
  // A process that draws and computes counts.
  const DriverHost both(Pretended{{"FAKE_NVML_FACTS", "used=6,display=2,processes=1"}});
  CHECK(both.report().devices.at(0).memory_used == 3ULL << 30);
  const DriverHost much(Pretended{{"FAKE_NVML_FACTS", "used=2,display=9"}});
  CHECK(much.report().devices.at(0).memory_used == 0);
}

TEST_CASE("devices are in the order of the bus") {
  const DriverHost host(Pretended{{"FAKE_NVML_GPUS", "A,B,C"}, {"FAKE_NVML_BUSES", "9,3,5"}});
  const DeviceReport report = host.report();
  REQUIRE(report.devices.size() == 3);
  CHECK(report.devices[0].name == "B");
  CHECK(report.devices[1].name == "C");
  CHECK(report.devices[2].name == "A");
  CHECK(report.devices[2].index == 2);
}

TEST_CASE("sick devices say what they have") {
  const DriverHost host(
      Pretended{{"FAKE_NVML_FACTS",
                 "ecc=3,reasons=72,correctable=1,uncorrectable=2,pending=1,failed=1,mig=1,"
                 "links=4,up=3,recovery=2"}});
  const DeviceFacts device = host.report().devices.at(0);
  CHECK(device.ecc_uncorrected == 3);
  CHECK(device.clock_reasons == (clock_hardware_slowdown | clock_hardware_thermal));
  CHECK(device.remapped == RemappedRows{1, 2, true, true});
  CHECK(device.mig == true);
  CHECK(device.nvlinks == NvLinks{3, 1});
  CHECK(device.recovery_action == 2);
}

TEST_CASE("GPUs that do not read each other's memory say why, and a lost one is not asked for") {
  const DriverHost host(Pretended{{"FAKE_NVML_GPUS", "NVIDIA H100:4"},
                                  {"FAKE_NVML_FACTS", "p2p=4"},
                                  {"FAKE_NVML_FAIL", "nvmlDeviceGetHandleByIndex_v2@3=15"}});
  const DeviceReport report = host.report();
  REQUIRE(report.devices.size() == 4);
  CHECK(report.devices[0].peers == PeerAccess{0, 2, 4});
  CHECK_FALSE(report.devices[3].peers);
}

TEST_CASE("a GPU that is alone has nobody to reach") {
  const DriverHost host(Pretended{{"FAKE_NVML_GPUS", "NVIDIA H100"}});
  CHECK_FALSE(host.report().devices.at(0).peers);
}

TEST_CASE("who computes on a device is told, with its memory where that is known") {
  const DriverHost host(Pretended{{"FAKE_NVML_FACTS", "processes=2"}});
  CHECK(host.report().devices.at(0).processes ==
        std::vector<DeviceProcess>{{1'000, 1ULL << 30}, {1'001, {}}});
}

TEST_CASE("of many busy devices with many processes a part is told, and of each at least one") {
  const DriverHost host(
      Pretended{{"FAKE_NVML_GPUS", "NVIDIA H100:1024"}, {"FAKE_NVML_FACTS", "processes=300"}});
  const DeviceReport report = host.report();
  REQUIRE(report.devices.size() == most_gpus);
  CHECK(report.devices.front().processes->size() == most_device_processes);
  CHECK(report.devices.back().processes->size() == 1);
}

TEST_CASE("a lost device has its trouble in the driver's words, beside one that answers") {
  SECTION("when it cannot be reached") {
    const DriverHost host(Pretended{{"FAKE_NVML_FAIL", "nvmlDeviceGetHandleByIndex_v2@0=15"}});
    const DeviceReport report = host.report();
    REQUIRE(report.devices.size() == 2);
    CHECK(report.devices[0].trouble == "GPU is lost");
    CHECK(report.devices[0].uuid.empty());
    CHECK(report.devices[1].trouble.empty());
  }
  SECTION("when it gets lost meanwhile") {
    const DriverHost host(Pretended{{"FAKE_NVML_FAIL", "nvmlDeviceGetMemoryInfo@1=15"}});
    const DeviceReport report = host.report();
    REQUIRE(report.devices.size() == 2);
    CHECK(report.devices[0].trouble.empty());
    CHECK(report.devices[1].trouble == "GPU is lost");
    CHECK_FALSE(report.devices[1].memory_total);
    CHECK(report.devices[1].name == "NVIDIA H100");
  }
}

TEST_CASE("a device that this user may not use is left out") {
  const DriverHost host(Pretended{{"FAKE_NVML_FAIL", "nvmlDeviceGetHandleByIndex_v2@0=4"}});
  const DeviceReport report = host.report();
  REQUIRE(report.devices.size() == 1);
  CHECK(report.devices[0].index == 0);
  CHECK(report.devices[0].uuid.starts_with("GPU-00000001"));
}

TEST_CASE("a library that does not match the driver, or none, is the trouble of the report") {
  const DriverHost mismatched(Pretended{{"FAKE_NVML_FAIL", "nvmlInit_v2=18"}});
  CHECK(mismatched.report() == DeviceReport{"", "", "Driver/library version mismatch", {}});
  const DriverHost without(Pretended{}, "/nowhere");
  CHECK(contains(without.report().trouble, "libnvidia-ml.so.1"));
}

TEST_CASE("what an old library or a device does not know is not told") {
  const DriverHost old(Pretended{}, FAKE_OLD_NVML_FOLDER);
  const DeviceReport report = old.report();
  CHECK(report.driver == "535.183.01");
  CHECK(report.cuda.empty());
  REQUIRE(report.devices.size() == 2);
  CHECK(report.devices[0] == DeviceFacts{.uuid = "GPU-00000000-0000-4000-8000-000000000000",
                                         .name = "NVIDIA H100",
                                         .pci_bus_id = "00000000:01:00.0",
                                         .memory_total = 40ULL << 30,
                                         .memory_free = 39ULL << 30,
                                         .memory_used = 1ULL << 30});
  const DriverHost refusing(Pretended{{"FAKE_NVML_FAIL", "nvmlDeviceGetTotalEccErrors=3"}});
  CHECK_FALSE(refusing.report().devices.at(0).ecc_uncorrected);
}

TEST_CASE("any name of a device arrives as it is") {
  const DriverHost host(Pretended{{"FAKE_NVML_GPUS", "a \"\\ b,\xff\n"}});
  const DeviceReport report = host.report();
  REQUIRE(report.devices.size() == 2);
  CHECK(report.devices[0].name == "a \"\\ b");
  CHECK(report.devices[1].name == "\xff\n");
}

TEST_CASE("a driver that never answers is given up, and nobody is left to wait for it") {
  const DriverHost host(Pretended{{"FAKE_NVML_HANG", "nvmlInit_v2"}});
  CHECK(host.refusal(300ms) ==
        "train-devices could not ask NVIDIA's driver: it has not ended within 300 ms");
  CHECK(eventually(no_child_runs));
}

TEST_CASE("a driver that crashes is told of with the signal") {
  const DriverHost host(Pretended{{"FAKE_NVML_CRASH", "nvmlDeviceGetName"}});
  CHECK(host.refusal() == "train-devices could not ask NVIDIA's driver: it was ended by signal 11");
}

TEST_CASE("a program that the host cannot execute is an error") {
  const DriverHost host(Pretended{});
  const auto asked = ask_devices({"\x7f"
                                  "ELF of another machine"},
                                 ample, host.files);
  REQUIRE_FALSE(asked);
  CHECK(contains(render(asked.error()), "cannot execute 'train-devices'"));
}

TEST_CASE("a host without NVIDIA's driver has no GPUs to be watched") {
  const FakeHost host;
  const auto started = start_gpu_watch({"no program"}, 1s, host.files);
  REQUIRE(started);
  CHECK_FALSE(*started);
}

TEST_CASE("what GPUs do is written at once, and again after each pause, in the order of the bus") {
  const DriverHost host(Pretended{{"FAKE_NVML_FACTS", "busy=97,used=6"},
                                  {"FAKE_NVML_BUSES", "9,3"},
                                  {"FAKE_NVML_FAIL", "nvmlDeviceGetUtilizationRates@0=3"}});
  Watching watching(host);
  const std::string line = watching.line();
  CHECK(line == R"({"devices":[{"index":0,"uuid":"GPU-00000001-0000-4000-8000-000000000000",)"
                R"("busy":97,"memory_used":5368709120},)"
                R"({"index":1,"uuid":"GPU-00000000-0000-4000-8000-000000000000",)"
                R"("memory_used":5368709120}]})");
  CHECK(watching.line() == line);
}

TEST_CASE("what a driver lacks or refuses of a GPU is left out") {
  {
    const DriverHost old(Pretended{{"FAKE_NVML_GPUS", "A"}, {"FAKE_NVML_FACTS", "used=6"}},
                         FAKE_OLD_NVML_FOLDER);
    CHECK(Watching(old).uses() == std::vector<GpuUse>{{0, {}, std::uint64_t{6} << 30}});
  }
  {
    const DriverHost lost(Pretended{{"FAKE_NVML_FACTS", "busy=50"},
                                    {"FAKE_NVML_FAIL", "nvmlDeviceGetHandleByIndex_v2@0=15"}});
    const auto uses = Watching(lost).uses();
    REQUIRE(uses.size() == 2);
    CHECK(uses[0] == GpuUse{0, {}, {}});
    CHECK(uses[1].busy == 50);
  }
  const DriverHost split(Pretended{{"FAKE_NVML_GPUS", "A"}, {"FAKE_NVML_FACTS", "mig=1,busy=50"}});
  CHECK(Watching(split).uses() == std::vector<GpuUse>{{0, {}, {}}});
}

TEST_CASE("as many GPUs as can be are written in a line that is read") {
  const DriverHost host(
      Pretended{{"FAKE_NVML_GPUS", "A:1024"}, {"FAKE_NVML_FACTS", "busy=100,used=39"}});
  CHECK(Watching(host).uses().size() == 1'024);
}

TEST_CASE("without a library, or without GPUs, nothing is written, and that is no error") {
  for (const Pretended& pretended :
       {Pretended{{"FAKE_NVML_GPUS", ""}}, Pretended{{"FAKE_NVML_FAIL", "nvmlInit_v2=9"}},
        Pretended{{"FAKE_NVML_FAIL", "nvmlDeviceGetCount_v2=9"}},
        Pretended{{"FAKE_NVML_FAIL", "nvmlDeviceGetHandleByIndex_v2=4"}}}) {
    const DriverHost host(pretended);
    Watching watching(host);
    CHECK(watching.line().empty());
    CHECK(watching.end().code == 0);
  }
  const DriverHost host(Pretended{}, "/nowhere");
  Watching watching(host);
  CHECK(watching.line().empty());
  CHECK(watching.end().code == 0);
}

TEST_CASE("the program that watches GPUs ends when nobody reads it any more") {
  const DriverHost host(Pretended{});
  Watching watching(host);
  CHECK(watching.uses().size() == 2);
  watching.process.stream.reset();
  const ExitStatus end = watching.end();
  CHECK((end.code.has_value() || end.signal == SIGPIPE));
}

TEST_CASE("the program that watches GPUs and hangs dies with the thread that started it") {
  const DriverHost host(Pretended{{"FAKE_NVML_HANG", "nvmlDeviceGetUtilizationRates"}});
  Descriptor pidfd;
  std::thread([&] {
    auto started = start_gpu_watch({program_bytes()}, 1s, host.files);
    if (started && *started) {
      pidfd = std::move((*started)->pidfd);
      (*started)->pid = -1;
    }
  }).join();
  REQUIRE(pidfd);
  REQUIRE(eventually([&] { return has_ended(pidfd); }));
  CHECK((*reap(pidfd.get(), {}))->signal == SIGKILL);
}
