// SPDX-License-Identifier: Apache-2.0
#include "backends/accelerator/accelerator.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;

namespace {

namespace fs = std::filesystem;

/// What the fake library pretends, for the length of a test.
class FakeNvml {
 public:
  FakeNvml(const char* gpus, const char* fail = "", const char* buses = "") {
    setenv("FAKE_NVML_GPUS", gpus, 1);
    setenv("FAKE_NVML_FAIL", fail, 1);
    setenv("FAKE_NVML_BUSES", buses, 1);
  }
  ~FakeNvml() {
    for (const char* name : {"FAKE_NVML_GPUS", "FAKE_NVML_FAIL", "FAKE_NVML_BUSES"}) unsetenv(name);
  }
};

AcceleratorSource fake(std::string pci_devices = "/does/not/exist") {
  return {.nvml_library = FAKE_NVML_LIBRARY, .pci_devices = std::move(pci_devices)};
}

Diagnostic only_diagnostic(const Result<std::vector<Accelerator>>& result) {
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().error_class == ErrorClass::host);
  REQUIRE(result.error().diagnostics.size() == 1);
  return result.error().diagnostics.front();
}

void add_pci_device(const fs::path& bus, const char* name, const char* vendor, const char* kind) {
  fs::create_directories(bus / name);
  std::ofstream(bus / name / "vendor") << vendor << '\n';
  std::ofstream(bus / name / "class") << kind << '\n';
}

}  // namespace

TEST_CASE("a machine without the driver's library has no accelerators") {
  const auto devices = list_accelerators({.nvml_library = "libtrain-no-such-library.so.1"});
  REQUIRE(devices.has_value());
  CHECK(devices->empty());
}

TEST_CASE("GPUs are described with index, name, type, UUID, bus and memory") {
  const FakeNvml nvml("NVIDIA A100-SXM4-40GB:2,NVIDIA H200");
  const auto devices = list_accelerators(fake());
  REQUIRE(devices.has_value());
  REQUIRE(devices->size() == 3);
  CHECK(devices->at(1) == Accelerator{.index = 1,
                                      .name = "NVIDIA A100-SXM4-40GB",
                                      .type = "A100",
                                      .uuid = "GPU-00000001-0000-4000-8000-000000000000",
                                      .pci_bus_id = "00000000:02:00.0",
                                      .memory = 40ULL << 30});
  CHECK(devices->at(2).index == 2);
  CHECK(devices->at(2).type == "H200");
}

TEST_CASE("GPUs are in PCI bus order") {
  const FakeNvml nvml("Tesla T4,NVIDIA L4,NVIDIA L40S", "", "9,3,5");
  const auto devices = list_accelerators(fake());
  REQUIRE(devices.has_value());
  REQUIRE(devices->size() == 3);
  CHECK(devices->at(0).type == "L4");
  CHECK(devices->at(1).type == "L40S");
  CHECK(devices->at(2).type == "T4");
  CHECK(devices->at(2).index == 2);
}

TEST_CASE("GPUs whose bus is not known for all keep the driver's order") {
  const FakeNvml nvml("Tesla T4,NVIDIA L4", "nvmlDeviceGetPciInfo_v3@1=3", "9,3");
  const auto devices = list_accelerators(fake());
  REQUIRE(devices.has_value());
  REQUIRE(devices->size() == 2);
  CHECK(devices->at(0).type == "T4");
  CHECK(devices->at(1).pci_bus_id.empty());
}

TEST_CASE("the library with no GPU in the machine is no accelerator") {
  const FakeNvml nvml("");
  const auto devices = list_accelerators(fake());
  REQUIRE(devices.has_value());
  CHECK(devices->empty());
}

TEST_CASE("a GPU that this user may not use is left out, and the others count from 0") {
  const FakeNvml nvml("NVIDIA A100-SXM4-40GB:3", "nvmlDeviceGetHandleByIndex_v2@0=4");
  const auto devices = list_accelerators(fake());
  REQUIRE(devices.has_value());
  REQUIRE(devices->size() == 2);
  CHECK(devices->at(0).index == 0);
  CHECK(devices->at(0).uuid.starts_with("GPU-00000001"));
}

TEST_CASE("a driver that does not match its library is an error with NVML's words") {
  const FakeNvml nvml("NVIDIA H100 80GB HBM3:8", "nvmlInit_v2=18");
  const Diagnostic diagnostic = only_diagnostic(list_accelerators(fake()));
  CHECK(diagnostic.message ==
        "cannot use the NVIDIA driver: NVML says 'Driver/library version mismatch' (error 18)");
  CHECK(diagnostic.hint.find("reboot") != std::string::npos);
}

TEST_CASE("a lost GPU is an error that names it and the driver") {
  const FakeNvml nvml("NVIDIA H100 80GB HBM3:8", "nvmlDeviceGetHandleByIndex_v2@5=15");
  const Diagnostic diagnostic = only_diagnostic(list_accelerators(fake()));
  CHECK(diagnostic.message ==
        "driver 535.183.01: cannot reach GPU 5: NVML says 'GPU is lost' (error 15)");
  CHECK_FALSE(diagnostic.hint.empty());
}

TEST_CASE("any other call of the driver that fails is an error with its subject") {
  struct Row {
    const char* fail;
    const char* words;
  };
  const auto row = GENERATE(values<Row>({
      {"nvmlDeviceGetCount_v2=999", "cannot count the GPUs"},
      {"nvmlDeviceGetName@1=15", "cannot read the name of GPU 1"},
      {"nvmlDeviceGetUUID@0=15", "cannot read the UUID of GPU 0"},
  }));
  const FakeNvml nvml("NVIDIA L4:2", row.fail);
  CHECK(only_diagnostic(list_accelerators(fake())).message.find(row.words) != std::string::npos);
}

TEST_CASE("the library without a driver is an error only where there is an NVIDIA GPU") {
  const FakeNvml nvml("", "nvmlInit_v2=9");
  const TemporaryDirectory bus;
  add_pci_device(bus.path(), "0000:00:02.0", "0x8086", "0x030000");
  add_pci_device(bus.path(), "0000:01:00.1", "0x10de", "0x040300");  // sound, on a GPU's board
  const auto none = list_accelerators(fake(bus.path()));
  REQUIRE(none.has_value());
  CHECK(none->empty());

  add_pci_device(bus.path(), "0000:01:00.0", "0x10de", "0x030200");
  const Diagnostic diagnostic = only_diagnostic(list_accelerators(fake(bus.path())));
  CHECK(diagnostic.message.find("Driver Not Loaded") != std::string::npos);
  CHECK(diagnostic.hint.find("modprobe nvidia") != std::string::npos);
}

TEST_CASE("a library that cannot be loaded is an error, not a machine without GPUs") {
  const TemporaryDirectory directory;
  const std::string library = directory.path() + "/libnvidia-ml.so.1";
  std::ofstream(library) << "not a library";
  const Diagnostic diagnostic = only_diagnostic(list_accelerators({.nvml_library = library}));
  CHECK(diagnostic.message.find(library) != std::string::npos);
}

TEST_CASE("a library that lacks a function is an error that names it") {
  const Diagnostic diagnostic = only_diagnostic(list_accelerators({.nvml_library = "libc.so.6"}));
  CHECK(diagnostic.message.find("nvmlInit_v2") != std::string::npos);
}
