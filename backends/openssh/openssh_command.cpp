// SPDX-License-Identifier: Apache-2.0
#include "backends/openssh/openssh_command.hpp"

#include <array>

#include "config_schema/text/shell_words.hpp"

namespace train {

namespace {

// ssh takes the first value that it sees of an option, so that these win over its files.
constexpr std::array fixed_options = {
    "BatchMode=yes",
    "UpdateHostKeys=no",  // many at once would all rewrite known_hosts
    "ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no", "Tunnel=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",  // beside a command of ours it is an error
    // A ControlMaster that runs already is used. A new one of ours would live on after us, or carry
    // sessions of other programs.
    "ControlMaster=no",
    "LogLevel=DEBUG1",  // tells how far it has come, and the fingerprint of an unknown key
};

// What the hosts file says of the host, as ssh's own command line would.
std::vector<std::string> host_arguments(const Host& host) {
  std::vector<std::string> arguments;
  if (host.port) arguments.insert(arguments.end(), {"-p", std::to_string(*host.port)});
  if (!host.identity_file.empty()) arguments.insert(arguments.end(), {"-i", host.identity_file});
  if (!host.user.empty()) arguments.insert(arguments.end(), {"-l", host.user});
  return arguments;
}

const std::string& destination(const Host& host) {
  return host.address.empty() ? host.name : host.address;
}

}  // namespace

std::vector<std::string> openssh_arguments(const Host& host, const std::string& remote_command,
                                           NewHostKey new_host_key) {
  std::vector<std::string> arguments = {"ssh", "-T", "-e", "none"};
  for (const char* option : fixed_options) arguments.insert(arguments.end(), {"-o", option});
  const bool accepts_new = new_host_key != NewHostKey::refused;
  arguments.insert(arguments.end(), {"-o", accepts_new ? "StrictHostKeyChecking=accept-new"
                                                       : "StrictHostKeyChecking=yes"});
  const auto of_host = host_arguments(host);
  arguments.insert(arguments.end(), of_host.begin(), of_host.end());
  arguments.insert(arguments.end(), {"--", destination(host), remote_command});
  return arguments;
}

std::string openssh_command_to_type(const Host& host) {
  std::vector<std::string> words = host_arguments(host);
  words.insert(words.begin(), "ssh");
  words.push_back(destination(host));
  return shell_line(words);
}

}  // namespace train
