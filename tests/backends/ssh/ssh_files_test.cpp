// SPDX-License-Identifier: Apache-2.0
// What the configuration says to whoever starts an ssh, as ssh itself reads it.
#include "backends/ssh/ssh_files.hpp"

#include <unistd.h>

#include "tests/backends/link/link_probe.hpp"
#include "tests/backends/ssh_formats/temporary_keys.hpp"
#include "tests/launcher/bootstrap/shell_dialogue.hpp"
#include "tests/skip.hpp"

using namespace train;
using namespace train::testing;

namespace {

struct FilesFixture {
  FilesFixture() {
    host.name = "gpu-x";
    options.home = folder.path().string();
    options.default_user = "me";
    options.known_hosts_files = {known_hosts()};
  }

  // ssh looks for the files where the user database says.
  void configure(const std::string& lines) {
    options.user_config = (folder.path() / "config").string();
    options.ssh_program = (folder.path() / "ssh").string();
    write_file(options.user_config,
               lines + "\nUserKnownHostsFile " + known_hosts() + "\nGlobalKnownHostsFile none\n");
    write_file(options.ssh_program,
               "#!/bin/sh\nexec /usr/bin/ssh -F '" + options.user_config + "' \"$@\"\n");
    std::filesystem::permissions(options.ssh_program, std::filesystem::perms::owner_all);
  }

  std::string known_hosts() const { return (folder.path() / "known_hosts").string(); }

  Result<HostSettings> settings() {
    SshFiles files(loop, options);
    std::optional<Result<HostSettings>> told;
    files.host_settings_of(host, [&](const Result<HostSettings>& settings) { told = settings; });
    REQUIRE(loop_until(loop, [&] { return told.has_value(); }));
    return *told;
  }

  TemporaryFolder folder;
  Loop loop;
  SshOptions options;
  Host host;
};

#define REQUIRE_SSH() \
  if (::access("/usr/bin/ssh", X_OK) != 0) SKIP_CASE("/usr/bin/ssh is not installed")

}  // namespace

TEST_CASE("a host without configuration has strict host keys, and its own address as way") {
  FilesFixture fixture;
  fixture.host.port = 2222;
  const auto settings = fixture.settings();
  REQUIRE(settings);
  CHECK(settings->server == "gpu-x:2222");
  CHECK(settings->new_host_key == NewHostKey::refused);
  CHECK(settings->known_hosts_file == fixture.known_hosts());
  CHECK_FALSE(settings->connect_timeout);
}

TEST_CASE("the way is the address that is connected to, or the last jump host") {
  REQUIRE_SSH();
  FilesFixture fixture;
  std::string expected;
  SECTION("address") {
    fixture.configure("Host gpu-x\n HostName 10.9.9.9\n Port 2200\n ConnectTimeout 77");
    expected = "10.9.9.9:2200";
    CHECK(fixture.settings()->connect_timeout == std::chrono::seconds(77));
  }
  SECTION("jump host") {
    fixture.configure("Host gpu-x\n ProxyJump outer,me@gate:2200");
    expected = "through me@gate:2200";
  }
  SECTION("jump host with a token") {
    fixture.configure("Host gpu-x\n ProxyJump gate-of-%h");
    expected = "through gate-of-gpu-x";
  }
  SECTION("no jump host") {
    fixture.configure("Host gpu-x\n ProxyJump none");
    expected = "gpu-x:22";
  }
  const auto settings = fixture.settings();
  REQUIRE(settings);
  CHECK(settings->server == expected);
}

TEST_CASE("new keys are accepted by accept-new alone, and only of hosts without any known key") {
  REQUIRE_SSH();
  FilesFixture fixture;
  for (const auto& [word, expected] :
       std::vector<std::pair<std::string, NewHostKey>>{{"accept-new", NewHostKey::accepted},
                                                       {"yes", NewHostKey::refused},
                                                       {"ask", NewHostKey::refused},
                                                       {"no", NewHostKey::accepted_for_no},
                                                       {"off", NewHostKey::accepted_for_no}}) {
    fixture.configure("StrictHostKeyChecking " + word);
    const auto settings = fixture.settings();
    REQUIRE(settings);
    CHECK(settings->new_host_key == expected);
  }
  const std::string key = public_line(make_key(fixture.folder.path() / "key", "-t ecdsa"));
  fixture.configure("StrictHostKeyChecking accept-new");
  write_file(fixture.known_hosts(), "gpu-y " + key + "\n");
  CHECK(fixture.settings()->new_host_key == NewHostKey::accepted);
  write_file(fixture.known_hosts(), "gpu-x " + key + "\n");
  CHECK(fixture.settings()->new_host_key == NewHostKey::refused);
  fixture.configure("StrictHostKeyChecking accept-new\nHostKeyAlias gpu-y");
  CHECK(fixture.settings()->new_host_key == NewHostKey::accepted);
  write_file(fixture.known_hosts(), "gpu-y " + key + "\n");
  CHECK(fixture.settings()->new_host_key == NewHostKey::refused);
}

TEST_CASE("a configuration that ssh refuses is an error in its words") {
  REQUIRE_SSH();
  FilesFixture fixture;
  fixture.configure("Host *\n Prot 22");
  const auto settings = fixture.settings();
  REQUIRE_FALSE(settings);
  CHECK(contains(render(settings.error()), "Bad configuration option: prot"));
}
