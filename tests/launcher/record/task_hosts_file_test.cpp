// SPDX-License-Identifier: Apache-2.0
#include "launcher/record/task_hosts_file.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("the hosts of a task are read as they were reached") {
  std::vector<Host> hosts(5);
  hosts[0].name = hosts[0].address = "node01";
  hosts[1].name = "alias";
  hosts[1].address = "fe80::1%eth0";
  hosts[1].user = "me";
  hosts[1].port = 2222;
  hosts[1].identity_file = "keys/\"odd\": {key}";
  hosts[1].transport = TransportKind::openssh;
  hosts[2].name = hosts[2].address = "localhost";
  hosts[2].transport = TransportKind::local;
  hosts[3].name = hosts[3].address = "node02";
  hosts[3].identity_file = "~/.ssh/id";
  hosts[3].transport = TransportKind::ssh;
  hosts[4].name = hosts[4].address = "node03";
  hosts[4].transport = TransportKind::command;
  hosts[4].command = {"rsh", "{host}", "exec \"{command}\""};
  const auto read = parse_hosts({"hosts.yaml", task_hosts_file(hosts, "/here")});
  REQUIRE(read);
  REQUIRE(read->hosts.size() == hosts.size());
  hosts[1].identity_file = "/here/" + hosts[1].identity_file;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const Host& host = read->hosts[i];
    CHECK(host.name == hosts[i].name);
    CHECK(host.address == hosts[i].address);
    CHECK(host.user == hosts[i].user);
    CHECK(host.port == hosts[i].port);
    CHECK(host.identity_file == hosts[i].identity_file);
    CHECK(host.transport == hosts[i].transport);
    CHECK(host.command == hosts[i].command);
  }
}
