// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hosts/this_machine.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

HostInventory hosts_in(const std::string& file) {
  const auto hosts = parse_hosts({"hosts", file});
  REQUIRE(hosts);
  return *hosts;
}

ThisMachine machine_with(std::vector<ThisMachine::Gpu> gpus) {
  return {.addresses = {"here"}, .cpus = 6, .memory = 1 << 20, .gpus = std::move(gpus)};
}

Host completed(const std::string& file, std::vector<ThisMachine::Gpu> gpus = {}) {
  return complete_inventory(hosts_in(file), machine_with(std::move(gpus))).hosts.front();
}

const std::vector<ThisMachine::Gpu> two_gpus = {{.index = 3, .type = "A100"},
                                                {.index = 1, .type = "A100"}};

}  // namespace

TEST_CASE("the transport of a flag is for hosts that are not this machine") {
  const HostInventory hosts =
      complete_inventory(hosts_in("hosts:\n- here\n- other\n- {name: here2, transport: local}\n"
                                  "- {name: it, address: here, transport: ssh}\n"),
                         machine_with({}), TransportKind::openssh);
  REQUIRE(hosts.hosts.size() == 4);
  CHECK(hosts.hosts[0].transport == TransportKind::local);
  CHECK(hosts.hosts[1].transport == TransportKind::openssh);
  CHECK(hosts.hosts[2].transport == TransportKind::local);
  CHECK(hosts.hosts[3].transport == TransportKind::openssh);
  CHECK_FALSE(hosts.hosts[1].cpus);
  CHECK(hosts.hosts[2].cpus == Quantity::of(6));
}

TEST_CASE("without a flag, transports stay as they were declared") {
  const HostInventory hosts = complete_inventory(
      hosts_in("hosts:\n- other\n- {name: it, transport: ssh}\n"), machine_with({}));
  CHECK(hosts.hosts[0].transport == TransportKind::automatic);
  CHECK(hosts.hosts[1].transport == TransportKind::ssh);
}

TEST_CASE("a host with a command is reached by it, unless it is this machine or a flag says else") {
  HostInventory declared = hosts_in("hosts:\n- here\n- other\n");
  for (Host& host : declared.hosts) host.command = {"srun"};
  const HostInventory hosts = reached_inventory(declared, {"here"});
  CHECK(hosts.hosts[0].transport == TransportKind::local);
  CHECK(hosts.hosts[0].command.empty());
  CHECK(hosts.hosts[1].transport == TransportKind::command);
  CHECK(hosts.hosts[1].command == std::vector<std::string>{"srun"});
  const HostInventory by_ssh = reached_inventory(declared, {"here"}, TransportKind::ssh);
  CHECK(by_ssh.hosts[1].transport == TransportKind::ssh);
  CHECK(by_ssh.hosts[1].command.empty());
}

TEST_CASE("what a host declares is stronger than what this machine has") {
  const Host bare = completed("here", two_gpus);
  CHECK(bare.cpus == Quantity::of(6));
  CHECK(bare.memory == std::uint64_t{1} << 20);
  CHECK(bare.accelerators == 2);
  CHECK(bare.accelerator_type == "A100");
  CHECK(bare.device_indices == std::vector<int>{3, 1});

  const Host declared = completed(
      "hosts:\n- {name: here, resources: {CPU: 2, GPU: 1}, accelerator_type: H100}\n", two_gpus);
  CHECK(declared.cpus == Quantity::of(2));
  CHECK(declared.accelerators == 1);
  CHECK(declared.accelerator_type == "H100");
  CHECK(declared.device_indices == std::vector<int>{3});
}

TEST_CASE("GPUs that are fewer than slots are noted, and those that were not found are left") {
  const Host few = completed("here slots=4", two_gpus);
  CHECK(few.too_few_gpus == 2);
  CHECK_FALSE(few.accelerators);
  CHECK(few.device_indices.empty());

  CHECK(completed("here slots=4").accelerators == 0);
  const Host hidden = completed("hosts:\n- {name: here, resources: {GPU: 4}}\n", two_gpus);
  CHECK(hidden.accelerators == 4);
  CHECK(hidden.device_indices.empty());
  CHECK(completed("hosts:\n- {name: here, slots: 2, slot_type: rocm}\n", two_gpus)
            .device_indices.empty());
}
