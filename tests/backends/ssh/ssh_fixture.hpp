// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/ssh/ssh_transport.hpp"
#include "tests/backends/link/link_probe.hpp"
#include "tests/backends/link/packed_agent.hpp"
#include "tests/backends/ssh/ssh_server.hpp"
#include "tests/skip.hpp"

namespace train::testing {

/// A server, and the options of a transport that reaches it as 'gpu-x'.
struct SshFixture {
  explicit SshFixture(const std::string& server_options = "") : server(server_options) {
    host.name = "gpu-x";
    host.address = "127.0.0.1";
    host.port = server.port();
    options.home = server.launcher_home().string();
    options.known_hosts_files = {server.known_hosts().string()};
    options.default_user = current_user();
    options.agent = packed_agent(fake_binary);
    options.print = [this](const std::string& line) { said.push_back(line); };
  }

  // ssh itself reads the configuration, but looks for it where the user database says.
  void configure(const std::string& text) {
    const auto program = folder.path() / "ssh";
    options.user_config = (folder.path() / "config").string();
    options.ssh_program = program.string();
    write_file(options.user_config, text);
    write_file(program, "#!/bin/sh\nexec /usr/bin/ssh -F '" + options.user_config + "' \"$@\"\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }

  SshServer server;
  TemporaryFolder folder;
  Loop loop;
  SshOptions options;
  Host host;
  std::vector<std::string> said;
};

#define REQUIRE_SSHD() \
  if (!SshServer::is_installed()) SKIP_CASE("/usr/sbin/sshd is not installed")

}  // namespace train::testing
