// SPDX-License-Identifier: Apache-2.0
#include "backends/openssh/openssh_command.hpp"

#include <array>

#include "config_schema/text/shell_words.hpp"

namespace train {

namespace {

// ssh uses the first value of an option, so these take precedence over its files.
constexpr std::array fixed_options = {
    "BatchMode=yes",
    "UpdateHostKeys=no",  // concurrent processes would all rewrite known_hosts
    "ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no", "Tunnel=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",  // an error together with a command
    // An existing ControlMaster is used. A new one would outlive this process, or carry sessions of
    // other programs.
    "ControlMaster=no",
    "LogLevel=DEBUG1",  // reports the progress, and the fingerprint of an unknown key
};

// The settings of the hosts file, as arguments of ssh.
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
