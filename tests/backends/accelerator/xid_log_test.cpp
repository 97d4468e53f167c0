// SPDX-License-Identifier: Apache-2.0
#include "backends/accelerator/xid_log.hpp"

#include <sys/socket.h>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "tests/catch.hpp"

using namespace train;
using std::chrono::microseconds;

namespace {

const std::string lost =
    "4,1234,5678901,-;NVRM: Xid (PCI:0000:07:00): 79, pid='<unknown>', name=<unknown>, GPU has "
    "fallen off the bus.\n SUBSYSTEM=pci\n DEVICE=+pci:0000:07:00.0\n";

// A log of the kernel: each read gives one record.
class FakeLog {
 public:
  FakeLog() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    log_.reset(ends[0]);
    kernel_.reset(ends[1]);
  }
  void add(const std::string& record) const { REQUIRE(write_whole(kernel_.get(), record) == 0); }
  std::map<std::string, Xid> last() const { return last_xids(log_.get()); }

 private:
  Descriptor log_;
  Descriptor kernel_;
};

}  // namespace

TEST_CASE("an Xid is found in a record of the kernel's log, with its GPU and time") {
  CHECK(xid_in(lost) == LoggedXid{"0000:07:00", {79, microseconds(5'678'901)}});
  CHECK(xid_in("3,1,20,-,caller=T1;NVRM: Xid (PCI:0000:3b:00): 48\n") ==
        LoggedXid{"0000:3b:00", {48, microseconds(20)}});
}

TEST_CASE("any other record has no Xid") {
  CHECK_FALSE(xid_in(""));
  CHECK_FALSE(xid_in(";"));
  CHECK_FALSE(xid_in("6,1,20,-;usb 1-1: NVRM: Xid (PCI:0000:07:00): 79, said a device"));
  CHECK_FALSE(xid_in("6,1,20,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module"));
  CHECK_FALSE(xid_in("6;NVRM: Xid (PCI:0000:07:00): 79, no time"));
  CHECK_FALSE(xid_in("6,1,x,-;NVRM: Xid (PCI:0000:07:00): 79, no time"));
  CHECK_FALSE(xid_in("6,1,20,-;NVRM: Xid (PCI:0000:07:00): many, no number"));
  CHECK_FALSE(xid_in("6,1,20,-;NVRM: Xid (PCI:0000:07:00): 99999999999, too large a number"));
  CHECK_FALSE(xid_in("6,1,20,-;NVRM: Xid (PCI:" + std::string(100, '0') + "): 79, a long place"));
  for (std::size_t length = 0; length < lost.find("79"); ++length)
    CHECK_FALSE(xid_in(lost.substr(0, length)));
}

TEST_CASE("of each GPU the last Xid counts") {
  const FakeLog log;
  CHECK(log.last().empty());
  log.add("4,1,10,-;NVRM: Xid (PCI:0000:07:00): 63, Row Remapper: New row marked for remapping\n");
  log.add("6,2,11,-;eth0: link up\n");
  log.add("4,3,12,-;NVRM: Xid (PCI:0000:3b:00): 31, MMU Fault\n");
  log.add(lost);
  CHECK(log.last() == std::map<std::string, Xid>{{"0000:07:00", {79, microseconds(5'678'901)}},
                                                 {"0000:3b:00", {31, microseconds(12)}}});
}

TEST_CASE("a log that cannot be read has no Xids") { CHECK(last_xids("/nowhere/kmsg").empty()); }

TEST_CASE("the last Xid of a GPU is told with it, whatever the domain's digits") {
  using namespace std::chrono_literals;
  DeviceReport report;
  report.devices.resize(3);
  report.devices[0].pci_bus_id = "00000000:07:00.0";
  report.devices[1].pci_bus_id = "00000000:17:00.0";
  report.devices[2].pci_bus_id = "";
  add_xids({{"0000:07:00", {79, 10s}}, {"0000:18:00", {31, 1s}}}, 75s, report);
  CHECK(report.devices[0].xid == LastXid{79, 65});
  CHECK_FALSE(report.devices[1].xid);
  CHECK_FALSE(report.devices[2].xid);
  add_xids({{"0000:07:00", {79, 10s}}}, 9s, report);
  CHECK(report.devices[0].xid == LastXid{79, 0});
}
