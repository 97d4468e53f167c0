// SPDX-License-Identifier: Apache-2.0
#include "cli/transports.hpp"

#include <cstdlib>

#include "backends/local/local_transport.hpp"
#include "backends/ssh/ssh_transport.hpp"
#include "cli/own_binary.hpp"
#include "cli/state_directory.hpp"

namespace train {

namespace {

std::vector<std::string> attach_command(std::optional<rlim_t> open_files) {
  std::vector<std::string> command = {own_binary(), "agent", "attach"};
  if (open_files) command.insert(command.end(), {"--open-files", std::to_string(*open_files)});
  return command;
}

}  // namespace

Result<std::unique_ptr<HostTransports>> HostTransports::make(
    Loop& loop, const Trial& trial, std::optional<rlim_t> open_files,
    std::function<void(const std::string&)> say) {
  auto transports = std::make_unique<HostTransports>();
  for (const PlannedHost& planned : trial.hosts) {
    const bool is_local = planned.host.transport == TransportKind::local;
    if (is_local && !transports->local_)
      transports->local_ = std::make_unique<LocalTransport>(loop, attach_command(open_files));
    if (is_local || transports->ssh_) continue;
    const char* agent_socket = std::getenv("SSH_AUTH_SOCK");
    auto options = default_ssh_options(home_of_ssh(), user_name(),
                                       agent_socket == nullptr ? "" : agent_socket);
    if (!options) return tl::make_unexpected(options.error());
    options->say = say;
    transports->ssh_ = std::make_unique<SshTransport>(loop, std::move(*options));
  }
  return transports;
}

std::unique_ptr<HostLink> HostTransports::open(const Host& host, const std::string& agent_key,
                                               LinkEvents events) {
  Transport& transport = host.transport == TransportKind::local ? *local_ : *ssh_;
  return transport.open(host, agent_key, std::move(events));
}

}  // namespace train
