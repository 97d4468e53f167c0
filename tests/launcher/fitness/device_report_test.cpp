// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/device_report.hpp"

#include "launcher/rendezvous/host_gpus.hpp"
#include "tests/catch.hpp"
#include "tests/contains.hpp"

using namespace train;
using train::testing::contains;

namespace {

DeviceFacts whole_device(int index) {
  DeviceFacts device;
  device.index = index;
  device.uuid = "GPU-5a3c";
  device.name = "NVIDIA H100 80GB HBM3";
  device.pci_bus_id = "00000000:07:00.0";
  device.trouble = "GPU is lost";
  device.memory_total = 80ULL << 30;
  device.memory_free = 0;
  device.memory_used = 79ULL << 30;
  device.processes = {{4'711, 3ULL << 30}, {4'712, {}}};
  device.ecc_uncorrected = 2;
  device.remapped = RemappedRows{1, 2, true, false};
  device.clock_reasons = clock_hardware_thermal | clock_power_brake;
  device.mig = false;
  device.nvlinks = NvLinks{17, 1};
  device.peers = PeerAccess{3, 4, 3};
  device.recovery_action = 1;
  return device;
}

// Without its end of line.
std::string encoded(const DeviceReport& report) {
  std::string text = encode_device_report(report);
  REQUIRE(text.ends_with('\n'));
  text.pop_back();
  REQUIRE(text.find('\n') == text.npos);
  return text;
}

void check_refused(const std::string& line, const char* why) {
  const auto read = decode_device_report(line);
  REQUIRE_FALSE(read);
  CHECK(read.error().error_class == ErrorClass::host);
  CHECK(contains(render(read.error()), why));
}

// A report of one device, of which this is said beside what has to be.
std::string line_with(const std::string& facts) {
  return R"({"driver":"","cuda":"","trouble":"","verbs_trouble":"","devices":[{"index":0,"uuid":"","name":"",)"
         R"("pci_bus_id":"","trouble":"")" +
         facts + "}]}";
}

}  // namespace

TEST_CASE("what a driver says of its devices is read as it was said") {
  const DeviceReport report{"580.65.06", "13.0", "", {whole_device(0), whole_device(1)}};
  const auto read = decode_device_report(encoded(report));
  REQUIRE(read);
  CHECK(*read == report);
}

TEST_CASE("what a driver does not tell stays untold") {
  DeviceReport report{"", "", "libnvidia-ml.so.1: cannot open", {}};
  report.devices.emplace_back();
  const auto read = decode_device_report(encoded(report));
  REQUIRE(read);
  CHECK(*read == report);
  CHECK_FALSE(read->devices[0].processes);
  report.devices[0].processes.emplace();  // told: there is none
  CHECK(decode_device_report(encoded(report))->devices[0].processes->empty());
}

TEST_CASE("a name with any bytes arrives as it was") {
  DeviceReport report;
  report.devices.push_back({.name = "a \"\\\n\xff GPU"});
  CHECK(decode_device_report(encoded(report))->devices[0].name == "a \"\\\n\xff GPU");
}

TEST_CASE("the largest report is a line that is understood, with a process of every busy device") {
  DeviceReport report{std::string(500, 'd'), "13.0", std::string(5'000, '\x01'), {}};
  DeviceFacts device = whole_device(0);
  device.name = device.uuid = device.pci_bus_id = device.trouble = std::string(500, '\xff');
  device.memory_total = device.memory_free = device.ecc_uncorrected = device.clock_reasons =
      std::uint64_t{INT64_MAX};
  device.remapped = RemappedRows{INT32_MAX, INT32_MAX, false, false};
  device.processes.emplace(most_device_processes + 1,
                           DeviceProcess{INT64_MAX, std::uint64_t{INT64_MAX}});
  report.devices.assign(most_gpus + 1, device);
  const auto read = decode_device_report(encoded(report));
  REQUIRE(read);
  REQUIRE(read->devices.size() == most_gpus);
  CHECK(read->devices.front().processes->size() == most_device_processes);
  CHECK(read->devices.back().processes->size() == 1);
}

TEST_CASE("a torn or a foreign line is an error") {
  const std::string line = encoded({"580.65.06", "13.0", "", {whole_device(0)}});
  for (std::size_t length = 0; length < line.size(); ++length)
    CHECK_FALSE(decode_device_report(line.substr(0, length)));
  check_refused(line.substr(1), "it is no JSON");
  check_refused("[]", "no object where one is expected");
  check_refused(std::string(longest_device_report + 1, ' '), "it is too long");
}

TEST_CASE("what is out of bounds is an error") {
  CHECK(decode_device_report(line_with("")));
  check_refused(line_with(R"(,"memory_free":-1)"), "'memory_free' is out of range");
  check_refused(line_with(R"(,"memory_free":"1")"), "'memory_free' is no integer");
  check_refused(line_with(R"(,"nvlinks":{"up":1025,"down":0})"), "'up' is out of range");
  check_refused(line_with(R"(,"peers":{"reached":1025,"not_reached":0,"why":0})"),
                "'reached' is out of range");
  check_refused(line_with(R"(,"remapped":{"correctable":1})"), "'uncorrectable' is missing");
  check_refused(line_with(R"(,"mig":1)"), "'mig' is no boolean");
  std::string processes = R"({"pid":1})";
  for (std::size_t i = 0; i < most_device_processes; ++i) processes += R"(,{"pid":1})";
  check_refused(line_with(",\"processes\":[" + processes + "]"), "'processes' is too long");
  check_refused(R"({"driver":")" + std::string(200, 'd') +
                    R"(","cuda":"","trouble":"","verbs_trouble":"","devices":[]})",
                "'driver' is too long");
}
