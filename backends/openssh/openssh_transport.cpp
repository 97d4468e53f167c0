// SPDX-License-Identifier: Apache-2.0
#include "backends/openssh/openssh_transport.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "backends/link/host_settings.hpp"
#include "backends/link/link_handle.hpp"
#include "backends/openssh/openssh_command.hpp"
#include "backends/openssh/openssh_link.hpp"
#include "backends/openssh/openssh_shared.hpp"

namespace train {

OpensshShared::OpensshShared(Loop& event_loop, OpensshOptions openssh_options,
                             std::shared_ptr<SetupWindow> setup_window)
    : ProcessLinkShared(
          event_loop, openssh_options,
          setup_window ? std::move(setup_window)
                       : std::make_shared<SetupWindow>(event_loop, openssh_options.max_setups)),
      options(std::move(openssh_options)),
      programs_(loop, options.search_path) {
  options.environment = ssh_environment(options.environment);
  constexpr std::string_view variable = "SSH_ASKPASS=";
  for (const std::string& each : options.environment)
    if (each.starts_with(variable)) options.askpass = each.substr(variable.size());
}

void OpensshShared::find_program(ProgramSearch::OnProgram on_program) {
  programs_.find("ssh", [on_program = std::move(on_program)](Result<std::string> found) {
    if (!found)
      for (Diagnostic& diagnostic : found.error().diagnostics)
        diagnostic.hint =
            "install OpenSSH's client (Debian: openssh-client), or take 'transport: ssh'";
    on_program(found);
  });
}

// ssh asks only one agent: it gets the best one.
std::vector<std::string> OpensshShared::environment() const {
  std::vector<std::string> result = options.environment;
  if (!options.logins) return result;
  const auto agents = options.logins->agent_sockets();
  const std::pair<std::string, std::string> means[] = {
      {"SSH_AUTH_SOCK=", agents.empty() ? "" : agents.front()},
      {"KRB5CCNAME=", options.logins->kerberos_cache()}};
  for (const auto& [name, value] : means) {
    std::erase_if(result, [&prefix = name](const auto& each) { return each.starts_with(prefix); });
    if (!value.empty()) result.push_back(name + value);
  }
  return result;
}

void OpensshShared::warn_of_strict_no() {
  if (!std::exchange(has_warned_of_strict_no_, true)) print(strict_no_warning);
}

OpensshTransport::OpensshTransport(Loop& loop, OpensshOptions options,
                                   std::shared_ptr<SetupWindow> window)
    : shared_(std::make_shared<OpensshShared>(loop, std::move(options), std::move(window))) {}

OpensshTransport::~OpensshTransport() = default;

bool OpensshTransport::is_asking() const {
  return std::any_of(shared_->links.begin(), shared_->links.end(), [](const auto& weak) {
    const auto link = weak.lock();
    return link && link->is_asking();
  });
}

std::unique_ptr<HostLink> OpensshTransport::open(const Host& host, const AgentCall& call,
                                                 LinkEvents events) {
  auto link = std::make_shared<OpensshLink>(shared_, host, call, std::move(events));
  auto& links = shared_->links;
  if (links.size() == links.capacity())  // before it would grow
    std::erase_if(links, [](const auto& weak) { return weak.expired(); });
  links.push_back(link);
  // Posted, so that no event comes from inside this call.
  shared_->loop.post([weak = std::weak_ptr(link)] {
    const auto waiting = weak.lock();
    if (waiting && !waiting->is_closed()) waiting->begin();
  });
  return std::make_unique<LinkHandle<OpensshLink>>(std::move(link));
}

}  // namespace train
