// SPDX-License-Identifier: Apache-2.0
#include "backends/openssh/openssh_command.hpp"

#include <algorithm>

#include "tests/catch.hpp"

using namespace train;
using Words = std::vector<std::string>;

namespace {

bool has_option(const Words& arguments, const std::string& option) {
  const auto found = std::find(arguments.begin(), arguments.end(), option);
  return found != arguments.end() && found != arguments.begin() && found[-1] == "-o";
}

// What follows the fixed part.
Words of_host(const Host& host) {
  const Words arguments = openssh_arguments(host, "exec /bin/sh");
  const auto last = std::find(arguments.rbegin(), arguments.rend(), "-o").base();
  return {last + 1, arguments.end()};
}

}  // namespace

TEST_CASE("whatever ssh_config says: no prompt, no terminal, no forwarding, strict host keys") {
  Host host;
  host.name = "gpu-a";
  const Words arguments = openssh_arguments(host, "exec /bin/sh");
  CHECK(Words(arguments.begin(), arguments.begin() + 4) == Words{"ssh", "-T", "-e", "none"});
  for (const std::string option :
       {"BatchMode=yes", "StrictHostKeyChecking=yes", "UpdateHostKeys=no",
        "ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no", "Tunnel=no",
        "PermitLocalCommand=no", "RemoteCommand=none", "ControlMaster=no"})
    CHECK(has_option(arguments, option));
}

TEST_CASE("a host whose settings accept new keys is told so, any other has strict host keys") {
  Host host;
  host.name = "gpu-a";
  for (const NewHostKey accepting : {NewHostKey::accepted, NewHostKey::accepted_for_no}) {
    const Words arguments = openssh_arguments(host, "exec /bin/sh", accepting);
    CHECK(has_option(arguments, "StrictHostKeyChecking=accept-new"));
    CHECK_FALSE(has_option(arguments, "StrictHostKeyChecking=yes"));
  }
  const Words refusing = openssh_arguments(host, "exec /bin/sh", NewHostKey::refused);
  CHECK(has_option(refusing, "StrictHostKeyChecking=yes"));
  CHECK_FALSE(has_option(refusing, "StrictHostKeyChecking=accept-new"));
}

TEST_CASE("of a host only what was declared is passed on, and nothing is taken for an option") {
  Host host;
  host.name = "gpu-a";
  CHECK(of_host(host) == Words{"--", "gpu-a", "exec /bin/sh"});
  CHECK(openssh_command_to_type(host) == "ssh gpu-a");
  host.address = "fe80::1%eth0";
  host.port = 2222;
  host.user = "me";
  host.identity_file = "~/.ssh/my key";
  CHECK(of_host(host) == Words{"-p", "2222", "-i", "~/.ssh/my key", "-l", "me", "--",
                               "fe80::1%eth0", "exec /bin/sh"});
  CHECK(openssh_command_to_type(host) == "ssh -p 2222 -i '~/.ssh/my key' -l me fe80::1%eth0");
}
