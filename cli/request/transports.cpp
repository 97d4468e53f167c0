// SPDX-License-Identifier: Apache-2.0
#include "cli/request/transports.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <climits>

#include "backends/command/command_transport.hpp"
#include "backends/local/local_transport.hpp"
#include "backends/posix/descriptor.hpp"
#include "backends/ssh/ssh_files.hpp"
#include "cli/request/embedded_agent.hpp"
#include "cli/request/request.hpp"
#include "cli/surroundings/environment.hpp"
#include "cli/surroundings/user_account.hpp"
#include "cli/terminal/talk.hpp"

namespace train {

namespace {

// The absolute path of the running program's file; /proc/self/exe if the file was replaced or
// removed, which still executes the running program.
std::string own_binary() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  const bool is_there =
      length > 0 && length < PATH_MAX && ::access(std::string(path, length).c_str(), X_OK) == 0;
  return is_there ? std::string(path, length) : "/proc/self/exe";
}

std::vector<std::string> attach_options(std::optional<rlim_t> open_files) {
  if (!open_files) return {};
  return {"--open-files", std::to_string(*open_files)};
}

SshOptions ssh_options(std::shared_ptr<Logins> logins) {
  SshOptions options = default_ssh_options(home_of_ssh(), user_name());
  options.logins = std::move(logins);
  options.agent = embedded_agent();
  return options;
}

OpensshOptions openssh_options(const SshOptions& options, std::shared_ptr<SshFiles> files) {
  OpensshOptions result;
  result.agent = options.agent;
  result.logins = options.logins;
  result.settings_of = [files = std::move(files)](const Host& host, const auto& on_settings) {
    files->host_settings_of(host, on_settings);
  };
  for (const auto& [name, value] : session_environment()) {
    if (name == "PATH") result.search_path = value;
    result.environment.push_back(fmt::format("{}={}", name, value));
  }
  return result;
}

// Raises this process's limit of open files to the maximum; ranks get the original limit.
std::optional<rlim_t> limit_for_ranks() {
  const std::optional<rlimit> before = raise_open_files_limit();
  return before ? std::optional(before->rlim_cur) : std::nullopt;
}

}  // namespace

Credentials own_credentials() { return {variable("SSH_AUTH_SOCK"), variable("KRB5CCNAME")}; }

HostTransports::HostTransports(Loop& loop, const std::vector<Host>& hosts,
                               std::optional<rlim_t> open_files, Print print)
    : logins_(std::make_shared<Logins>(own_credentials())),
      print_(std::make_shared<Print>(std::move(print))),
      question_(loop) {
  const Parts parts{loop, open_files,
                    [print = print_](const std::string& said) { (*print)(said); }};
  for (const Host& host : hosts) make_for(host, parts);
}

void HostTransports::make_for(const Host& host, const Parts& parts) {
  if (transport_of(host) != nullptr) return;
  if (host.transport == TransportKind::local)
    local_ = std::make_unique<LocalTransport>(parts.loop,
                                              std::vector<std::string>{own_binary(), "agent"},
                                              attach_options(parts.open_files));
  else if (host.transport == TransportKind::command)
    make_over_commands(parts);
  else
    make_over_ssh(parts);
}

void HostTransports::make_over_commands(const Parts& parts) {
  CommandOptions options;
  options.agent = embedded_agent();
  options.print = parts.print;
  options.search_path = variable("PATH");
  options.environment = environment_texts();
  command_ = std::make_unique<CommandTransport>(
      parts.loop, std::move(options),
      std::make_shared<SetupWindow>(parts.loop, SetupWindow::default_most));
}

// Makes both SSH transports, because libssh2 hands hosts that it cannot serve to OpenSSH. They
// share the limit of concurrent connection setups and the parsed ssh files.
void HostTransports::make_over_ssh(const Parts& parts) {
  SshOptions options = ssh_options(logins_);
  const auto window = std::make_shared<SetupWindow>(parts.loop, SetupWindow::default_most);
  const auto files = std::make_shared<SshFiles>(parts.loop, options);
  OpensshOptions of_openssh = openssh_options(options, files);
  of_openssh.print = parts.print;
  openssh_ = std::make_unique<OpensshTransport>(parts.loop, std::move(of_openssh), window);
  options.openssh = openssh_.get();
  options.print = parts.print;
  if (TerminalQuestion::is_possible())
    options.ask = [this](const std::string& question, TerminalQuestion::OnAnswer on_answer) {
      question_.ask(question, std::move(on_answer));
    };
  ssh_ = std::make_unique<SshTransport>(parts.loop, std::move(options), window, files);
}

void HostTransports::keep_sessions(bool are_kept) {
  if (ssh_) ssh_->keep_sessions(are_kept);
}

Transport* HostTransports::transport_of(const Host& host) const {
  switch (host.transport) {
    case TransportKind::local:
      return local_.get();
    case TransportKind::openssh:
      return openssh_.get();
    case TransportKind::command:
      return command_.get();
    case TransportKind::automatic:
    case TransportKind::ssh:
      return ssh_.get();
  }
  return ssh_.get();
}

std::unique_ptr<HostLink> HostTransports::open(const Host& host, const AgentCall& call,
                                               LinkEvents events) {
  return transport_of(host)->open(host, call, std::move(events));
}

HostConnections::HostConnections(const std::vector<Host>& hosts)
    : transports(loop, hosts, limit_for_ranks(),
                 [](const std::string& said) { talk(TerminalText(said)); }) {}

}  // namespace train
