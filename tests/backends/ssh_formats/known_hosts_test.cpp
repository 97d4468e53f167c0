// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_formats/known_hosts.hpp"

#include "backends/ssh_formats/wire_encoding.hpp"
#include "tests/backends/ssh_formats/temporary_keys.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace train::testing;

namespace {

std::string blob(const std::string& type, const std::string& body) {
  return wire_string(type) + wire_string(body);
}
std::string entry(const std::string& names, const std::string& type, const std::string& body) {
  return names + " " + type + " " + base64_encode(blob(type, body)) + " comment\n";
}
KnownHosts read(const std::string& text) {
  KnownHosts hosts;
  hosts.add(text, "known_hosts");
  return hosts;
}
HostKeyVerdict verdict(const KnownHosts& hosts, const std::string& name, int port,
                       const std::string& body, const std::string& type = "ssh-ed25519") {
  return judge_host_key(hosts.keys_of(name, port), blob(type, body)).verdict;
}

}  // namespace

TEST_CASE("known hosts are found by name, port, pattern and hash") {
  struct Case {
    const char* names;
    const char* host;
    int port;
    bool is_found;
  };
  const Case cases[] = {
      {"gpu-a", "gpu-a", 22, true},
      {"GPU-A", "gpu-a", 22, true},
      {"gpu-a", "gpu-b", 22, false},
      {"x,gpu-a,10.0.0.1", "10.0.0.1", 22, true},
      {"[gpu-a]:2201", "gpu-a", 2201, true},
      {"[gpu-a]:2201", "gpu-a", 22, false},
      {"[gpu-a]:2201", "gpu-a", 2202, false},
      {"gpu-a", "gpu-a", 2201, true},  // ssh falls back to the bare name
      {"gpu-*", "gpu-17", 22, true},
      {"gpu-?", "gpu-17", 22, false},
      {"*.lab,!bad.lab", "good.lab", 22, true},
      {"*.lab,!bad.lab", "bad.lab", 22, false},
      {"[*]:2201", "gpu-a", 2201, true},
      {"[::1]:2201", "::1", 2201, true},
  };
  for (const Case& one : cases) {
    CAPTURE(one.names, one.host, one.port);
    const KnownHosts hosts = read(entry(one.names, "ssh-ed25519", "A"));
    CHECK((verdict(hosts, one.host, one.port, "A") == HostKeyVerdict::trusted) == one.is_found);
  }
}

TEST_CASE("names that ssh-keygen hashed are found") {
  TemporaryFolder folder;
  const auto file = folder.path() / "known_hosts";
  const std::string a(32, 'A'), b(32, 'B');  // as long as real keys: ssh-keygen drops others
  write_file(file, entry("gpu-a", "ssh-ed25519", a) + entry("[gpu-b]:2201", "ssh-ed25519", b));
  output_of("ssh-keygen -q -H -f " + file.string() + " 2> /dev/null");
  REQUIRE(read_file(file).starts_with("|1|"));
  KnownHosts hosts;
  hosts.add_file(file.string());
  hosts.add_file((folder.path() / "none").string());
  CHECK(verdict(hosts, "gpu-a", 22, a) == HostKeyVerdict::trusted);
  CHECK(verdict(hosts, "gpu-b", 2201, b) == HostKeyVerdict::trusted);
  CHECK(verdict(hosts, "gpu-b", 22, b) == HostKeyVerdict::unknown);
}

TEST_CASE("another key of the same type is a change, of another type an unknown key") {
  const KnownHosts hosts = read("# comment\n\n" + entry("a", "ssh-rsa", "R") +
                                entry("a", "ssh-ed25519", "A") + entry("a", "ssh-ed25519", "B"));
  CHECK(verdict(hosts, "a", 22, "A") == HostKeyVerdict::trusted);
  CHECK(verdict(hosts, "a", 22, "B") == HostKeyVerdict::trusted);
  CHECK(verdict(hosts, "a", 22, "C") == HostKeyVerdict::changed);
  CHECK(verdict(hosts, "a", 22, "A", "ecdsa-sha2-nistp256") == HostKeyVerdict::unknown);
  CHECK(judge_host_key(hosts.keys_of("a", 22), blob("ssh-ed25519", "C")).line->line == 4);
}

TEST_CASE("a revoked key is refused, also when another line has it") {
  const KnownHosts hosts =
      read(entry("a", "ssh-ed25519", "A") + entry("@revoked *", "ssh-ed25519", "A") +
           entry("@cert-authority *", "ssh-ed25519", "CA") + entry("@other a", "ssh-ed25519", "O"));
  CHECK(verdict(hosts, "a", 22, "A") == HostKeyVerdict::revoked);
  CHECK(verdict(hosts, "b", 22, "CA") == HostKeyVerdict::unknown);
  CHECK(verdict(hosts, "a", 22, "O") == HostKeyVerdict::changed);
}

TEST_CASE("lines that make no sense are skipped") {
  const KnownHosts hosts =
      read("a\na ssh-ed25519\na ssh-ed25519 !!!\n|1|x\n|2|a|b ssh-ed25519 AAAA\n" +
           entry("a", "ssh-ed25519", "A") + "a ssh-rsa " + base64_encode(blob("ssh-ed25519", "X")));
  CHECK(hosts.keys_of("a", 22).size() == 1);
}

TEST_CASE("the host is asked first for the type of key that is known") {
  const KnownHosts hosts =
      read(entry("a", "ecdsa-sha2-nistp256", "E") + entry("b", "ssh-rsa", "R"));
  const auto preference = [&](const char* host) {
    std::string list;
    for (const std::string& name : host_key_preference(hosts.keys_of(host, 22))) list += name + ",";
    return list;
  };
  CHECK(preference("a").starts_with("ecdsa-sha2-nistp256,ssh-ed25519,"));
  CHECK(preference("b").starts_with("rsa-sha2-512,rsa-sha2-256,ssh-rsa,ssh-ed25519,"));
  CHECK(preference("c").starts_with("ssh-ed25519,"));
}
