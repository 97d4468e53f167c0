// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/probed_hosts.hpp"

#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"
#include "tests/launcher/live/reports.hpp"

using namespace train;

namespace {

HostReport machine(int cpus, std::uint64_t memory, const std::vector<int>& cuda = {}) {
  HostReport report = report_of({}, cuda);
  report.cpus = cpus;
  report.memory = memory;
  return report;
}

}  // namespace

TEST_CASE("hosts that were asked make a hosts file that is read without a warning") {
  constexpr std::uint64_t gib = 1u << 30;
  HostReport gpus = machine(96, 503 * gib + 7, {0, 1, 2, 3});
  gpus.gpu_type = "H200";
  HostReport other = gpus;
  other.lease_identity = "other";
  HostReport cpus = machine(8, 900 << 20);
  cpus.lease_identity = "third";
  Host user_host = plain_host("c1");
  user_host.user = "ada";
  const std::string text = probed_hosts_file(
      live_hosts({plain_host("g01"), plain_host("g02"), user_host, plain_host("gone")},
                 {gpus, other, cpus, fail(ErrorClass::host, "no\nanswer")}));
  CHECK(text ==
        "# What 'train hosts probe' was told by these hosts.\n"
        "# gone does not answer: no\\x0aanswer\n"
        "hosts:\n"
        "  - name: \"g[01-02]\"\n"
        "    slots: 4\n"
        "    slot_type: cuda\n"
        "    accelerator_type: \"H200\"\n"
        "    resources: {CPU: 96, memory: 503GiB}\n"
        "  - name: \"c1\"\n"
        "    user: \"ada\"\n"
        "    slots: 8\n"
        "    slot_type: cpu\n"
        "    resources: {CPU: 8, memory: 900MiB}\n");
  const auto read = parse_hosts({"hosts", text});
  REQUIRE(read);
  CHECK(read->warnings.empty());
  REQUIRE(read->hosts.size() == 3);
  CHECK(read->hosts[1].name == "g02");
  CHECK(read->hosts[1].accelerators == 4);
  CHECK(read->hosts[1].memory == 503 * gib);
  CHECK(read->hosts[2].slots == 8);
  CHECK(read->hosts[2].user == "ada");
}

TEST_CASE("AMD's GPUs are slots as NVIDIA's are, and MIG's are not") {
  HostReport amd = machine(8, 0);
  amd.gpus.rocm = {0, 1};
  HostReport split = machine(4, 0);
  split.lease_identity = "other";
  split.gpus.split = 2;
  const std::string text =
      probed_hosts_file(live_hosts({plain_host("a"), plain_host("b")}, {amd, split}));
  CHECK(text ==
        "# What 'train hosts probe' was told by these hosts.\n"
        "# b: 2 GPUs in MIG mode are not counted\n"
        "hosts:\n"
        "  - name: \"a\"\n"
        "    slots: 2\n"
        "    slot_type: rocm\n"
        "    resources: {CPU: 8}\n"
        "  - name: \"b\"\n"
        "    slots: 4\n"
        "    slot_type: cpu\n"
        "    resources: {CPU: 4}\n");
  CHECK(parse_hosts({"hosts", text}));
}
