// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hosts/host_inventory.hpp"

#include <fmt/format.h>

#include "tests/config_schema/reading.hpp"

using namespace train;
using train::testing::read_hosts;

namespace {

std::string shown(const std::vector<Host>& hosts) {
  std::string text;
  for (const Host& host : hosts) {
    if (!text.empty()) text += ' ';
    if (!host.user.empty()) text += host.user + "@";
    text += host.name;
    if (host.slots) text += ":" + std::to_string(*host.slots);
  }
  return text;
}

std::string refused(const std::string& text) {
  const auto inventory = parse_hosts({"hosts", text});
  if (inventory) return "accepted";
  CHECK(inventory.error().error_class == ErrorClass::hosts);
  return render(inventory.error());
}

}  // namespace

TEST_CASE("what slots are is said for each host, or under defaults") {
  struct Row {
    std::string text;
    SlotType type;
    std::optional<int> accelerators;
  };
  const auto row = GENERATE(values<Row>({
      {"n1 slots=8\n", SlotType::automatic, std::nullopt},
      {"n1 slots=8 slot_type=auto\n", SlotType::automatic, std::nullopt},
      {"n1 slots=8 slot_type=cuda\n", SlotType::cuda, 8},
      {"n1:4 slot-type = rocm\n", SlotType::rocm, 4},
      {"n1 slots=8 slot_type=cpu\n", SlotType::cpu, 0},
      {"n1 slot_type=cuda\n", SlotType::cuda, std::nullopt},
      {"hosts: [{name: n1, slots: 8}]", SlotType::automatic, std::nullopt},
      {"hosts: [{name: n1, slots: 8, slot_type: cuda}]", SlotType::cuda, 8},
      {"defaults: {slot_type: rocm}\nhosts: [n1:4]", SlotType::rocm, 4},
      {"defaults: {slot_type: cuda, slots: 2}\nhosts: [{name: n1, slot_type: cpu}]", SlotType::cpu,
       0},
      {"hosts: [{name: n1, slots: 8, slot_type: cpu, resources: {GPU: 4}}]", SlotType::cpu, 0},
      {"hosts: [{name: n1, slots: 2, slot_type: cuda, resources: {GPU: 4}}]", SlotType::cuda, 4},
      {"hosts: [{name: n1, slots: 8, accelerator_type: A100}]", SlotType::automatic, 8},
      {"hosts: [{name: n1, slots: 8, accelerator_type: TPU-V4}]", SlotType::automatic,
       std::nullopt},
  }));
  CAPTURE(row.text);
  const std::vector<Host> hosts = read_hosts(row.text);
  REQUIRE(hosts.size() == 1);
  CHECK(hosts.front().slot_type == row.type);
  CHECK(hosts.front().accelerators == row.accelerators);
}

TEST_CASE("hostfiles of other launchers are read") {
  const auto [text, hosts] = GENERATE(table<std::string, std::string>({
      {"n1 slots=8\nn2 slots=4\n", "n1:8 n2:4"},
      {"n1 slots=8 max_slots=8 # a comment\n\n# another\nn2", "n1:8 n2"},
      {"n1:8\nn2:4\n", "n1:8 n2:4"},
      {"n1\nn2\n", "n1 n2"},
      {"  n1\t slots=8\r\nn2\r\n", "n1:8 n2"},
      {"\xef\xbb\xbf"
       "n1\n",
       "n1"},
      {"user@n1 slots=2\n", "user@n1:2"},
      {"node[01-03] slots=8\n", "node01:8 node02:8 node03:8"},
      {"node[01-02]:8,gpu-b:4\n", "node01:8 node02:8 gpu-b:4"},
      {"[::1]:8\nfoo@[fe80::1%eth0]\n", "::1:8 foo@fe80::1%eth0"},
      {"10.0.0.1 slots=1 max-slots=2\n", "10.0.0.1:1"},
      {"node10\nnode2\n", "node10 node2"},
      {"localhost\n", "localhost"},
      {"n1 slots = 8\nn2 slots= 4 max_slots =8\n", "n1:8 n2:4"},
      {"n1 count=8\nn2 cpu=4\n", "n1:8 n2:4"},
      {"n1 user=root slots=2\nn2 username=train\n", "root@n1:2 train@n2"},
      {"n1:4 user=root\n", "root@n1:4"},
      {"n1 slots=2#no blank before\n#n2\n", "n1:2"},
      {"n1 slots=2 slots-max=4\n", "n1:2"},
      {"n[0-4/2],m[1-2][3-4] slots=1", "n0:1 n2:1 n4:1 m13:1 m14:1 m23:1 m24:1"},
      {"node01.lab.\n", "node01.lab."},
      {"\xef\xbb\xbf# c\r\n\r\n\tn1\t\tslots=2\t\r\n", "n1:2"},
      {"1.2.3.4.5\n", "1.2.3.4.5"},
  }));
  CHECK(shown(read_hosts(text)) == hosts);
}

TEST_CASE("a line may name the port of sshd") {
  const auto hosts = read_hosts("n[1-2] port=2222 slots=4\nn3\n");
  CHECK(hosts[1].port == 2222);
  CHECK(hosts[1].slots == 4);
  CHECK_FALSE(hosts[2].port);
}

TEST_CASE("a line of very many hosts is read in time in proportion") {
  std::string list;
  for (int i = 0; i < 65'536; ++i) list += fmt::format("{}n{}", i == 0 ? "" : ",", i);
  const auto in_file = read_hosts(list);
  REQUIRE(in_file.size() == 65'536);
  CHECK(in_file.back().place.column == 1 + static_cast<int>(list.rfind('n')));
  const auto inventory = parse_host_list({"-H", list});
  REQUIRE(inventory);
  CHECK(inventory->hosts.back().place.column == in_file.back().place.column);
}

TEST_CASE("an inline list is read in order") {
  const auto inventory = parse_host_list({"-H", "node[01-02]:8, gpu-b:4,user@n9,[::1]:2"});
  REQUIRE(inventory);
  CHECK(inventory->source == "-H");
  CHECK(shown(inventory->hosts) == "node01:8 node02:8 gpu-b:4 user@n9 ::1:2");
  CHECK(inventory->hosts[2].place.column == 16);
}

TEST_CASE("an inline list may hold no faults") {
  for (const char* list :
       {"", " ", "a,", "a,,b", "a:0", "a:x", "a:1:2", "@a", "a@", "-x", "n[1", "a,a", "[::1",
        "[:z:]", "::1", "[::1]x", "a:99999999999", "a;b", "a\nb"}) {
    INFO(list);
    const auto inventory = parse_host_list({"-H", list});
    REQUIRE_FALSE(inventory);
    CHECK(inventory.error().error_class == ErrorClass::hosts);
  }
}

TEST_CASE("a fault in an inline list of several lines is shown in its line") {
  const auto inventory = parse_host_list({"-H", "n1,\nn2,\n n3:0,\nn4"});
  REQUIRE_FALSE(inventory);
  CHECK(inventory.error().diagnostics.front().place == Place{"-H", 3, 5, " n3:0,"});
}

TEST_CASE("an inventory in YAML says everything about its hosts") {
  const auto hosts = read_hosts(R"(
defaults:
  user: train
  port: 2222
  interface: eth1
  labels: {zone: a, disk: ssd}
  env: {NCCL_DEBUG: INFO}
  resources: {CPU: 32, memory: 64GiB}
hosts:
  - name: gpu[1-2]
    slots: 4
    accelerator_type: A100
    resources: {GPU: 4, CPU: 96.5, licenses: 2}
    labels: {zone: b}
    pool: big
    weight: 1.5
    env: {A: 012}
  - name: other
    address: 10.0.0.9
    user: root
    port: 22
    identity_file: "~/.ssh/my key"
    transport: ssh
    interface: ib0
  - node9:2
)");
  REQUIRE(hosts.size() == 4);
  const Host& gpu = hosts[1];
  CHECK(gpu.name == "gpu2");
  CHECK(gpu.address == "gpu2");
  CHECK(gpu.user == "train");
  CHECK(gpu.port == 2222);
  CHECK(gpu.slots == 4);
  CHECK(gpu.accelerators == 4);
  CHECK(gpu.accelerator_type == "A100");
  CHECK(gpu.cpus == Quantity::from_double(96.5));
  CHECK(gpu.memory == 64ull << 30);
  CHECK(gpu.custom.at("licenses") == Quantity::of(2));
  CHECK(gpu.labels == std::map<std::string, std::string>{{"zone", "b"}, {"disk", "ssd"}});
  CHECK(gpu.env == std::map<std::string, std::string>{{"A", "012"}, {"NCCL_DEBUG", "INFO"}});
  CHECK(gpu.pool == "big");
  CHECK(gpu.weight == 1.5);
  CHECK(gpu.interface == "eth1");
  CHECK(gpu.place.line == 10);
  const Host& other = hosts[2];
  CHECK(other.address == "10.0.0.9");
  CHECK(other.user == "root");
  CHECK(other.port == 22);
  CHECK(other.identity_file == "~/.ssh/my key");
  CHECK(other.transport == TransportKind::ssh);
  CHECK(other.interface == "ib0");
  CHECK_FALSE(other.slots);
  CHECK_FALSE(other.accelerators);
  CHECK(hosts[3].name == "node9");
  CHECK(hosts[3].slots == 2);
}

TEST_CASE("a host may declare that it has no GPUs") {
  const auto hosts = read_hosts("hosts:\n- {name: n1, slots: 4, resources: {GPU: 0}}\n");
  CHECK(hosts[0].accelerators == 0);
  CHECK(hosts[0].slots == 4);
}

TEST_CASE("a key of the user's own at the top of a hosts file is not looked at") {
  const auto hosts = read_hosts(
      "x-big: &big {slots: 8, user: me}\nx-what: {slot: 1}\nhosts:\n  - {<<: *big, name: n1}\n");
  CHECK(shown(hosts) == "me@n1:8");
  CHECK(refused("hosts: [{name: n1, x-rack: 4}]\n").find("unknown key 'x-rack'") !=
        std::string::npos);
  CHECK(refused("defaults: {x-rack: 4}\nhosts: [n1]\n").find("unknown key 'x-rack'") !=
        std::string::npos);
}

TEST_CASE("YAML and hostfiles are told apart by their content") {
  CHECK(shown(read_hosts("---\nhosts: [n1, n2]\n")) == "n1 n2");
  CHECK(shown(read_hosts("{hosts: [n1]}")) == "n1");
  CHECK(shown(read_hosts("# c\n\nhosts:\n  - name: \"::1\"\n")) == "::1");
  CHECK(shown(read_hosts("\"hosts\": [user@n1]")) == "user@n1");
  CHECK(shown(read_hosts("hosts:8\n")) == "hosts:8");
  CHECK(refused("host:\n- n1\n").find("did you mean 'hosts'?") != std::string::npos);
}

TEST_CASE("a host that is named twice names both lines") {
  const std::string text = refused("n1\nn2\n\nn1 slots=3\n");
  CHECK(text.find("hosts:4:1: host 'n1' on line 4 is named twice; first on line 1") == 0);
}

TEST_CASE("a machine under two names is warned of, once") {
  struct Row {
    std::string text;
    std::vector<std::string> messages;
  };
  const Row row = GENERATE(values<Row>({
      {"n1 slots=2\nn2 slots=2\n", {}},
      {"localhost slots=2\n127.0.0.1 slots=2\n",
       {"'localhost', '127.0.0.1' are one machine, whose slots count for each"}},
      {"localhost\nn1\n127.0.0.1\n127.0.0.2\n",
       {"'localhost', '127.0.0.1' and 1 more are one machine, whose slots count for each"}},
      {"hosts:\n- {name: a, address: 10.0.0.1}\n- {name: b, address: 10.0.0.1}\n",
       {"'a', 'b' are one machine, whose slots count for each"}},
      {"127.1openssh\n127.0.0.1\n", {}},
      // Forwarded ports: machines behind one address.
      {"hosts:\n- {name: a, address: gw, port: 1001}\n- {name: b, address: gw, port: 1002}\n", {}},
  }));
  CAPTURE(row.text);
  const auto hosts = parse_hosts({"hosts", row.text});
  REQUIRE(hosts);
  std::vector<std::string> messages;
  for (const Diagnostic& warning : hosts->warnings) messages.push_back(warning.message);
  CHECK(messages == row.messages);
}

TEST_CASE("all faults of a hosts file are told, in order") {
  const auto inventory = parse_hosts({"hosts", "a slots=0\nb\nn[2-1]\nb\nc foo\n"});
  REQUIRE_FALSE(inventory);
  std::vector<int> lines;
  for (const Diagnostic& found : inventory.error().diagnostics) lines.push_back(found.place.line);
  CHECK(lines == std::vector<int>{1, 3, 4, 5});
}

TEST_CASE("more hosts than the bound are refused before they are made") {
  CHECK(read_hosts("n[1-65536]\n").size() == 65'536);
  CHECK(refused("n[1-65536]\nm1\n").find("hosts:2:1") == 0);
  CHECK(refused("n[1-40000],m[1-40000]\n").find("hosts:1:12") == 0);
}

TEST_CASE("what is said of many hosts is bounded before it is copied to each") {
  const std::string text(1 << 20, 'x');
  const auto refused = [](const std::string& hosts) {
    const auto inventory = parse_hosts({"hosts", hosts});
    return !inventory &&
           inventory.error().diagnostics.front().message.find("256 MiB") != std::string::npos;
  };
  CHECK(refused("hosts:\n- {name: 'n[1-60000]', env: {A: " + text + "}}\n"));
  std::string with_defaults = "defaults: {identity_file: " + text + "}\nhosts:\n";
  for (int i = 0; i < 1000; ++i) with_defaults += "- n" + std::to_string(i) + "\n";
  CHECK(refused(with_defaults));
  CHECK_FALSE(refused("hosts:\n- {name: 'n[1-100]', env: {A: " + text + "}}\n"));
  CHECK_FALSE(parse_host_list({"-H", std::string(60'000, 'u') + "@n[1-65536]"}));
}

TEST_CASE("garbage is refused for what it is") {
  CHECK(refused(std::string("\x7f"
                            "ELF\0",
                            5))
            .find("hosts:1: this is no hosts file") == 0);
  CHECK(refused("").find("hosts: no hosts in it") == 0);
  CHECK(refused("hosts:\n").find("no hosts in it") != std::string::npos);
}

TEST_CASE("what reaches command lines follows the same rules in every form") {
  const std::vector<std::string> hostile = {"$(reboot)",
                                            "`id`",
                                            "a;b",
                                            "a'b",
                                            "a\"b",
                                            "a|b",
                                            "a&b",
                                            "a>b",
                                            "${IFS}a",
                                            "%h",
                                            "-oProxyCommand=x",
                                            "a b",
                                            "a\\nb",
                                            "\\e[2Jx",
                                            "\\u202ex",
                                            "a/b",
                                            "fe80::1%$(reboot)",
                                            "fe80::1%a;b"};
  for (const std::string& value : hostile) {
    std::string quoted = value;
    for (std::size_t at = 0; (at = quoted.find('"', at)) != quoted.npos; at += 2)
      quoted.insert(at, "\\");
    for (const std::string key : {"name", "address", "user", "interface"}) {
      const std::string name = key == "name" ? "" : "name: n, ";
      const std::string text = "hosts:\n- {" + name + key + ": \"" + quoted + "\"}\n";
      INFO(text);
      CHECK_FALSE(parse_hosts({"hosts.yaml", text}));
      if (key != "name")
        CHECK_FALSE(
            parse_hosts({"h", "defaults: {" + key + ": \"" + quoted + "\"}\nhosts: [n]\n"}));
    }
    INFO(value);
    if (value.find('\\') != value.npos) continue;  // YAML's escapes; else the user of a domain
    CHECK_FALSE(parse_hosts({"hosts", value + "@n slots=1\n"}));
    CHECK_FALSE(parse_hosts({"hosts", "n user=" + value + "\n"}));
    CHECK_FALSE(parse_hosts({"hosts", "[" + value + "] slots=1\n"}));
    CHECK_FALSE(parse_host_list({"-H", value}));
    CHECK_FALSE(parse_host_list({"-H", "[" + value + "]"}));
  }
}

TEST_CASE("addresses, users and interfaces of every usual kind are taken") {
  for (const std::string address :
       {"10.0.0.7", "gpu-a.example.org", "node_1", "fd00::7", "fe80::1%eth0.100"})
    CHECK(read_hosts("hosts:\n- {name: n, address: \"" + address + "\"}\n").front().address ==
          address);
  for (const std::string user : {"me", "m.e-1_2", "DOMAIN\\me", "host$"})
    CHECK(read_hosts("hosts:\n- {name: n, user: '" + user + "'}\n").front().user == user);
  for (const std::string interface : {"eth0", "bond0.100", "eth0:1", "ib0,ib1"})
    CHECK(read_hosts("hosts:\n- {name: n, interface: '" + interface + "'}\n").front().interface ==
          interface);
}

TEST_CASE("what is shown of hosts holds nothing that steers a terminal") {
  for (const std::string key :
       {"pool", "slice", "accelerator_type", "identity_file", "labels", "resources"}) {
    for (const std::string bad : {"\\e[2J", "\\u009b", "\\u202e", "\\x7f"}) {
      const std::string value = key == "labels"      ? "{a: \"x" + bad + "\"}"
                                : key == "resources" ? "{\"x" + bad + "\": 1}"
                                                     : "\"x" + bad + "\"";
      INFO(key << ": " << value);
      const auto inventory =
          parse_hosts({"h", "hosts:\n- {name: n, " + key + ": " + value + "}\n"});
      REQUIRE_FALSE(inventory);
      CHECK(render(inventory.error()).find("cannot be shown") != std::string::npos);
    }
  }
  CHECK_FALSE(parse_hosts({"h", "hosts:\n- {name: n, labels: {\"\\e[2J\": x}}\n"}));
}

TEST_CASE("a folder of leases is of a host or of all, and absolute") {
  const auto hosts = read_hosts(
      "defaults: {lease_directory: /srv/locks}\n"
      "hosts:\n- a\n- {name: b, lease_directory: '/srv/our locks'}\n");
  CHECK(hosts[0].lease_directory == "/srv/locks");
  CHECK(hosts[1].lease_directory == "/srv/our locks");
  const auto refused = [](const std::string& path) {
    const auto inventory =
        parse_hosts({"h", "hosts:\n- {name: n, lease_directory: \"" + path + "\"}\n"});
    return inventory ? std::string() : render(inventory.error());
  };
  CHECK(refused("locks").find("absolute path") != std::string::npos);
  CHECK(refused("").find("absolute path") != std::string::npos);
  CHECK(refused("/a\\u001b").find("cannot be shown") != std::string::npos);
  CHECK(refused("/" + std::string(longest_lease_directory, 'a')).find("201 bytes long") !=
        std::string::npos);
  CHECK(refused("/" + std::string(longest_lease_directory - 1, 'a')).empty());
}

TEST_CASE("transports have the names that files use") {
  CHECK(to_string(TransportKind::automatic) == "auto");
  CHECK(to_string(TransportKind::local) == "local");
  CHECK(to_string(TransportKind::ssh) == "ssh");
  CHECK(to_string(TransportKind::openssh) == "openssh");
  CHECK(to_string(TransportKind::command) == "command");
  for (const std::string word : {"auto", "local", "ssh", "openssh", "command"})
    CHECK(to_string(transport_of(word).value()) == word);
  CHECK_FALSE(transport_of("rsh"));
}

TEST_CASE("a host may be reached by a command, which a host may have instead of the defaults") {
  const auto hosts = read_hosts(
      "defaults: {transport: {command: [rsh, '{host}', \"a \\\"b\\\"\"]}}\n"
      "hosts:\n- a\n- {name: b, transport: ssh}\n- {name: c, transport: {command: [/bin/x]}}\n");
  using Words = std::vector<std::string>;
  CHECK(hosts[0].transport == TransportKind::command);
  CHECK(hosts[0].command == Words{"rsh", "{host}", "a \"b\""});
  CHECK(hosts[1].transport == TransportKind::ssh);
  CHECK(hosts[2].command == Words{"/bin/x"});
  CHECK(transport_yaml(hosts[0]) == R"({command: ["rsh", "{host}", "a \"b\""]})");
  CHECK(transport_yaml(hosts[1]) == "ssh");
}

TEST_CASE("of very many faults the first are told and the rest are counted") {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "n slots=0\n";
  const auto inventory = parse_hosts({"hosts", text});
  REQUIRE_FALSE(inventory);
  CHECK(inventory.error().diagnostics.size() <= 1001);
}
