// SPDX-License-Identifier: Apache-2.0
#include "cli/transports.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "backends/local/local_transport.hpp"
#include "backends/openssh/openssh_transport.hpp"
#include "backends/ssh/ssh_transport.hpp"
#include "cli/own_binary.hpp"
#include "cli/request.hpp"
#include "cli/user_account.hpp"

namespace train {

namespace {

std::vector<std::string> attach_command(std::optional<rlim_t> open_files) {
  std::vector<std::string> command = {own_binary(), "agent", "attach"};
  if (open_files) command.insert(command.end(), {"--open-files", std::to_string(*open_files)});
  return command;
}

Result<std::unique_ptr<Transport>> make_ssh(Loop& loop, std::shared_ptr<SetupWindow> window,
                                            Transport& openssh, AskSecret ask,
                                            std::function<void(const std::string&)> say) {
  const char* agent_socket = std::getenv("SSH_AUTH_SOCK");
  auto options =
      default_ssh_options(home_of_ssh(), user_name(), agent_socket == nullptr ? "" : agent_socket);
  if (!options) return tl::make_unexpected(options.error());
  options->openssh = &openssh;
  options->say = std::move(say);
  options->ask = std::move(ask);
  return std::make_unique<SshTransport>(loop, std::move(*options), std::move(window));
}

Result<std::unique_ptr<Transport>> make_openssh(Loop& loop, std::shared_ptr<SetupWindow> window) {
  auto binary = running_binary();
  if (!binary) return tl::make_unexpected(binary.error());
  OpensshOptions options;
  options.binary = std::move(*binary);
  for (const auto& [name, value] : launcher_environment()) {
    if (name == "PATH") options.search_path = value;
    options.environment.push_back(fmt::format("{}={}", name, value));
  }
  return std::make_unique<OpensshTransport>(loop, std::move(options), std::move(window));
}

}  // namespace

Result<std::unique_ptr<HostTransports>> HostTransports::make(
    Loop& loop, const Trial& trial, std::optional<rlim_t> open_files,
    std::function<void(const std::string&)> say) {
  auto transports = std::make_unique<HostTransports>(loop);
  const Parts parts{loop, std::make_shared<SetupWindow>(loop, SetupWindow::default_most),
                    open_files, std::move(say)};
  for (const PlannedHost& planned : trial.hosts) {
    if (const auto made = transports->make_for(planned.host, parts); !made)
      return tl::make_unexpected(made.error());
  }
  return transports;
}

Result<void> HostTransports::make_for(const Host& host, const Parts& parts) {
  auto& transport = of(host);
  if (transport) return {};
  if (host.transport == TransportKind::local) {
    transport = std::make_unique<LocalTransport>(parts.loop, attach_command(parts.open_files));
    return {};
  }
  // libssh2 hands over what it cannot do.
  if (!openssh_) {
    auto made = make_openssh(parts.loop, parts.window);
    if (!made) return tl::make_unexpected(made.error());
    openssh_ = std::move(*made);
  }
  if (transport) return {};
  AskSecret ask;
  if (TerminalQuestion::is_possible())
    ask = [this](const std::string& question, TerminalQuestion::OnAnswer on_answer) {
      question_.ask(question, std::move(on_answer));
    };
  auto made = make_ssh(parts.loop, parts.window, *openssh_, std::move(ask), parts.say);
  if (!made) return tl::make_unexpected(made.error());
  transport = std::move(*made);
  return {};
}

std::unique_ptr<Transport>& HostTransports::of(const Host& host) {
  switch (host.transport) {
    case TransportKind::local:
      return local_;
    case TransportKind::openssh:
      return openssh_;
    case TransportKind::automatic:
    case TransportKind::ssh:
      return ssh_;
  }
  return ssh_;
}

std::unique_ptr<HostLink> HostTransports::open(const Host& host, const std::string& agent_key,
                                               LinkEvents events) {
  return of(host)->open(host, agent_key, std::move(events));
}

}  // namespace train
