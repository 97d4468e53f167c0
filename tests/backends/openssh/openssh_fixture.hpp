// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include "backends/openssh/openssh_transport.hpp"
#include "tests/backends/link/link_probe.hpp"
#include "tests/backends/link/packed_agent.hpp"
#include "tests/launcher/bootstrap/shell_dialogue.hpp"

namespace train::testing {

/// A folder with a program called ssh that is searched first, and an agent to ship.
struct OpensshFixture {
  OpensshFixture() {
    host.name = host.address = "gpu-x";
    std::filesystem::create_directories(home());
    std::filesystem::create_directories(folder.path() / "bin");
    options.search_path = (folder.path() / "bin").string() + ":/usr/bin:/bin";
    options.environment = {"HOME=" + home().string(), "PATH=/usr/bin:/bin", "SECRET=xyzzy"};
    options.agent = packed_agent(fake_binary);
  }

  /// Makes `script` (for /bin/sh) what is executed as ssh. In it `$here` is the folder, and
  /// `$command` the last argument: what is to run on the host.
  void fake_ssh(const std::string& script) const {
    const auto file = folder.path() / "bin/ssh";
    write_file(file, "#!/bin/sh\nhere='" + folder.path().string() +
                         "'\nfor command in \"$@\"; do :; done\n" + script);
    ::chmod(file.c_str(), 0755);
  }
  std::filesystem::path home() const { return folder.path() / "home"; }
  std::filesystem::path cached_agent() const {
    return home() / (".cache/train/train-" + options.agent.name());
  }
  /// A file that the fake writes.
  std::string file(const std::string& name) const { return read_file(folder.path() / name); }
  bool has_file(const std::string& name) const {
    return std::filesystem::exists(folder.path() / name);
  }

  TemporaryFolder folder;
  Loop loop;
  OpensshOptions options;
  Host host;
};

}  // namespace train::testing
