// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/diagnosis.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/contains.hpp"

using namespace train;

namespace {

PrivatePath private_path(const std::string& path, unsigned mode) {
  PrivatePath own;
  own.path = path;
  own.exists = true;
  own.mode = mode;
  return own;
}

DiskFacts disk(const std::string& path) {
  DiskFacts facts;
  facts.path = path;
  facts.size = facts.free = std::uint64_t{100} << 30;
  facts.free_files = 1'000'000;
  return facts;
}

MachineFacts healthy() {
  MachineFacts facts;
  facts.ssh_program = "/usr/bin/ssh";
  facts.ssh_version = "OpenSSH_9.2p1";
  facts.ssh_folder = private_path("/home/me/.ssh", 0700);
  facts.ssh_config = private_path("/home/me/.ssh/config", 0644);
  facts.known_hosts = private_path("/home/me/.ssh/known_hosts", 0600);
  facts.keys = {private_path("/home/me/.ssh/id_ed25519", 0600)};
  facts.state = private_path("/home/me/.local/state/train", 0700);
  facts.state_disk = disk("/home/me/.local/state/train");
  facts.open_files = 1 << 20;
  facts.is_clock_synchronized = true;
  facts.year = 2026;
  facts.temporary = disk("/tmp");
  return facts;
}

// The findings that are not ok: "wrong keys: MESSAGE; HINT".
std::vector<std::string> faults_of(const MachineFacts& facts) {
  std::vector<std::string> faults;
  for (const MachineFinding& finding : diagnose(facts)) {
    CHECK(finding.hint.empty() == (finding.health == Health::ok));
    if (finding.health == Health::ok) continue;
    faults.push_back(std::string(to_string(finding.health)) + " " + finding.check + ": " +
                     finding.message + "; " + finding.hint);
  }
  return faults;
}

using Faults = std::vector<std::string>;

}  // namespace

TEST_CASE("a machine without faults has a line for each check, all ok") {
  const auto findings = diagnose(healthy());
  CHECK(worst_of(findings) == Health::ok);
  CHECK(faults_of(healthy()).empty());
  CHECK(findings.size() == 14);
  const auto one = std::find_if(findings.begin(), findings.end(), [](const MachineFinding& each) {
    return each.check == "open_files";
  });
  REQUIRE(one != findings.end());
  CHECK(one->message == "1048576 (ulimit -Hn), enough for 349504 hosts");
}

TEST_CASE("a missing ssh is wrong only where a host needs it") {
  MachineFacts facts = healthy();
  facts.ssh_program.clear();
  REQUIRE(faults_of(facts).size() == 1);
  CHECK(faults_of(facts)[0].starts_with("warning ssh: there is no ssh in PATH"));
  facts.needs_openssh = true;
  CHECK(faults_of(facts)[0].starts_with("wrong ssh: there is no ssh in PATH"));
}

TEST_CASE("files of ssh that others can write are named with their mode") {
  MachineFacts facts = healthy();
  facts.ssh_folder.mode = 0775;
  facts.ssh_config.mode = 0664;
  facts.known_hosts.mode = 0666;
  CHECK(faults_of(facts) ==
        Faults{"warning ssh_config: others can write into '/home/me/.ssh' (mode 0775); chmod 700 "
               "/home/me/.ssh",
               "wrong ssh_config: others can write '/home/me/.ssh/config' (mode 0664), so ssh "
               "refuses it; chmod 600 /home/me/.ssh/config",
               "warning known_hosts: others can write '/home/me/.ssh/known_hosts' (mode 0666); "
               "chmod 600 /home/me/.ssh/known_hosts"});
  facts = healthy();
  facts.ssh_config.trouble = "Permission denied";
  facts.known_hosts.is_own = false;
  CHECK(
      faults_of(facts) ==
      Faults{"wrong ssh_config: '/home/me/.ssh/config' cannot be read: Permission denied; chmod "
             "600 /home/me/.ssh/config",
             "warning known_hosts: others can write '/home/me/.ssh/known_hosts' (mode 0600); make "
             "it yours with chown"});
}

TEST_CASE("a configuration that ssh refuses is wrong, with ssh's reason") {
  MachineFacts facts = healthy();
  facts.ssh_config_error = make_error(ErrorClass::host, "ssh says: Bad configuration option");
  CHECK(
      faults_of(facts) ==
      Faults{"wrong ssh_config: ssh says: Bad configuration option; 'ssh -G localhost' says more"});
}

TEST_CASE("keys that others can read are wrong, and one usable key is enough") {
  MachineFacts facts = healthy();
  facts.keys.push_back(private_path("/home/me/.ssh/id_rsa", 0644));
  CHECK(faults_of(facts) ==
        Faults{"wrong keys: others can read the key '/home/me/.ssh/id_rsa' (mode 0644), so it is "
               "not used; chmod 600 /home/me/.ssh/id_rsa"});
  facts.keys.clear();
  REQUIRE(faults_of(facts).size() == 1);
  CHECK(faults_of(facts)[0].starts_with("warning keys: there is no key file"));
  facts.agent_socket = "/tmp/agent";
  facts.agent_keys = 2;
  CHECK(faults_of(facts).empty());
}

TEST_CASE("an ssh-agent that does not answer is a warning") {
  MachineFacts facts = healthy();
  facts.agent_socket = "/tmp/agent";
  facts.agent_error = make_error(ErrorClass::host, "ssh-agent at '/tmp/agent' is gone");
  REQUIRE(faults_of(facts).size() == 1);
  CHECK(faults_of(facts)[0].starts_with("warning ssh_agent: ssh-agent at '/tmp/agent' is gone; "));
}

TEST_CASE("a wrong file of the user is wrong") {
  MachineFacts facts = healthy();
  facts.user_file_error = make_error(ErrorClass::config, "others can write 'c'", "chmod go-w c");
  CHECK(faults_of(facts) == Faults{"wrong config_file: others can write 'c'; chmod go-w c"});
}

TEST_CASE("of a wrong hosts file the first fault is told, and how many follow") {
  MachineFacts facts = healthy();
  facts.hosts_file = "my hosts";
  Error error = make_error(ErrorClass::hosts, "unknown key 'slot'", "did you mean 'slots'?");
  error.diagnostics[0].place = {"my hosts", 3, 9, {}};
  error.diagnostics.push_back(error.diagnostics[0]);
  facts.hosts_error = error;
  CHECK(faults_of(facts) ==
        Faults{"wrong hosts_file: my hosts:3: unknown key 'slot' (and 1 more); did you mean "
               "'slots'?"});
}

TEST_CASE("a state folder of others is wrong, and an open or full one is told") {
  MachineFacts facts = healthy();
  facts.state.is_own = false;
  REQUIRE(faults_of(facts).size() == 1);
  CHECK(faults_of(facts)[0].starts_with("wrong state: '/home/me/.local/state/train' belongs to"));
  facts = healthy();
  facts.state.mode = 0755;
  REQUIRE(faults_of(facts).size() == 1);
  CHECK(faults_of(facts)[0].starts_with("warning state: others can enter"));
  facts = healthy();
  facts.state_disk->free = std::uint64_t{10} << 20;
  REQUIRE(faults_of(facts).size() == 1);
  CHECK(faults_of(facts)[0].starts_with(
      "wrong state: '/home/me/.local/state/train' has 10 MiB free"));
  facts.state_disk->free = std::uint64_t{500} << 20;
  CHECK(faults_of(facts)[0].starts_with("warning state: "));
  facts.state_disk->free_files = 5;
  CHECK(
      faults_of(facts)[0].starts_with("wrong state: '/home/me/.local/state/train' has room for 5"));
}

TEST_CASE("a task whose launcher has died is named with what to do") {
  MachineFacts facts = healthy();
  facts.tasks = 3;
  facts.unattended = {"abcd2345"};
  CHECK(
      faults_of(facts) ==
      Faults{"warning tasks: the launcher of task abcd2345 has died, and its ranks may still run; "
             "train task attach abcd2345 goes on with it, train task kill abcd2345 ends it"});
}

TEST_CASE("limits say how many hosts they suffice for") {
  MachineFacts facts = healthy();
  facts.open_files = 256;
  facts.processes = ProcessLimit{"processes, ulimit -u", 90, 100};
  REQUIRE(faults_of(facts).size() == 2);
  CHECK(
      faults_of(facts)[0].starts_with("warning open_files: 256 (ulimit -Hn), enough for 64 hosts"));
  CHECK(faults_of(facts)[1].starts_with(
      "warning processes: 90 of 100 are in use (processes, ulimit -u), so at most 10 hosts"));
  facts.open_files = 20;
  CHECK(faults_of(facts)[0].starts_with("warning open_files: 20 (ulimit -Hn), enough for 0 hosts"));
}

TEST_CASE("an old clock is wrong, and one that nothing synchronizes a warning") {
  MachineFacts facts = healthy();
  facts.is_clock_synchronized = false;
  REQUIRE(faults_of(facts).size() == 1);
  CHECK(faults_of(facts)[0].starts_with("warning clock: "));
  facts.year = 1970;
  CHECK(faults_of(facts)[0].starts_with("wrong clock: the year is 1970 by the clock"));
}

TEST_CASE("a logout that ends launchers is a warning") {
  MachineFacts facts = healthy();
  facts.logout = LogoutEffect::kills_session;
  CHECK(train::testing::contains(faults_of(facts)[0], "loginctl enable-linger"));
  facts.logout = LogoutEffect::ends_manager;
  CHECK(train::testing::contains(faults_of(facts)[0], "loginctl enable-linger"));
}

TEST_CASE("the document has all findings and the worst of them") {
  MachineFacts facts = healthy();
  facts.temporary.trouble = "Read-only file system";
  const auto document = nlohmann::json::parse(diagnosis_document(diagnose(facts)));
  CHECK(document["state"] == "wrong");
  REQUIRE(document["findings"].size() == 14);
  CHECK(document["findings"][0]["hint"].is_null());
  CHECK(document["findings"][13] ==
        nlohmann::json{{"check", "temporary"},
                       {"state", "wrong"},
                       {"message", "'/tmp' cannot be written: Read-only file system"},
                       {"hint", "set TMPDIR to another directory"}});
}
