// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/ssh_transport.hpp"

#include <fmt/format.h>
#include <libssh2.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <utility>

#include "backends/link/link_handle.hpp"
#include "backends/link/ssh_environment.hpp"
#include "backends/ssh/known_host_file.hpp"
#include "backends/ssh/ssh_link.hpp"
#include "backends/ssh/ssh_shared.hpp"
#include "backends/ssh/wire_encoding.hpp"

namespace train {

Result<SshOptions> default_ssh_options(std::string home, std::string user,
                                       std::string agent_socket) {
  SshOptions options;
  options.user_config = home + "/.ssh/config";
  options.system_config = "/etc/ssh/ssh_config";
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  options.ssh_environment = ssh_environment(variables);
  options.known_hosts_files = {home + "/.ssh/known_hosts", home + "/.ssh/known_hosts2"};
  options.global_known_hosts_files = {"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"};
  options.home = std::move(home);
  options.default_user = std::move(user);
  options.agent_socket = std::move(agent_socket);
  auto binary = running_binary();
  if (!binary) return tl::make_unexpected(binary.error());
  options.binary_path = std::move(binary->path);
  options.build_id = std::move(binary->build_id);
  return options;
}

namespace {

SshSettings settings_without_configuration(const SshOptions& options) {
  SshSettings settings;
  settings.user = options.default_user;
  settings.identity_files = default_identities();
  settings.user_known_hosts = options.known_hosts_files;
  settings.global_known_hosts = options.global_known_hosts_files;
  return settings;
}

SshConfigFiles config_files(const SshOptions& options) {
  return {options.user_config, options.system_config,   options.home,
          options.ssh_program, options.ssh_environment, options.config_deadline};
}

Libssh2Algorithms libssh2_algorithms() {
  using Method = SshSession::Method;
  return {SshSession::supported(Method::key_exchange), SshSession::supported(Method::cipher),
          SshSession::supported(Method::mac), SshSession::supported(Method::host_key)};
}

}  // namespace

SshShared::SshShared(Loop& event_loop, SshOptions ssh_options,
                     std::shared_ptr<SetupWindow> setup_window)
    : loop(event_loop),
      window(std::move(setup_window)),
      options(std::move(ssh_options)),
      config(loop, config_files(options), settings_without_configuration(options)),
      algorithms(libssh2_algorithms()),
      identities(options.agent_deadline, static_cast<bool>(options.ask)),
      passphrases(loop, options.ask),
      packer(loop, options.binary_path),
      resolver(loop) {
  if (!window) window = std::make_shared<SetupWindow>(loop, options.max_setups);
}

KnownHosts& SshShared::known_hosts_of(const SshSettings& settings) {
  std::vector<std::string> files = settings.user_known_hosts;
  files.insert(files.end(), settings.global_known_hosts.begin(), settings.global_known_hosts.end());
  const auto [known, is_new] = known_hosts_.try_emplace(files);
  if (is_new)
    for (const std::string& file : files) known->second.add_file(file);
  return known->second;
}

void SshShared::accept_host_key(const SshSettings& settings, const Endpoint& host,
                                const std::string& blob) {
  const auto tell = [this](const std::string& line) {
    if (options.say) options.say(line);
  };
  if (settings.strict_host_keys == StrictHostKeys::no && !std::exchange(said_no_is_not_no_, true))
    tell(
        "warning: 'StrictHostKeyChecking no' is taken as accept-new: changed host keys are "
        "refused");
  const std::string line = known_hosts_line(host.known_name, blob);
  const std::string key = key_type(blob) + " " + key_fingerprint(blob);
  if (settings.user_known_hosts.empty()) {
    known_hosts_of(settings).add(line, "this run");
    return tell(fmt::format("the host key of {} is new and trusted for this run: {}",
                            host.known_name, key));
  }
  const std::string& file = settings.user_known_hosts.front();
  known_hosts_of(settings).add(line, file + " (new)");
  std::string salt(settings.hash_known_hosts ? 20 : 0, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(salt.data()), static_cast<int>(salt.size())) != 1)
    salt.clear();
  const auto written = append_known_host(file, known_hosts_line(host.known_name, blob, salt));
  tell(written ? fmt::format("the host key of {} is new and was added to {}: {}", host.known_name,
                             file, key)
               : "warning: " + render(written.error()));
}

SshTransport::SshTransport(Loop& loop, SshOptions options, std::shared_ptr<SetupWindow> window) {
  // Also sets up the process for all sessions; doing it again does nothing.
  libssh2_init(0);
  shared_ = std::make_shared<SshShared>(loop, std::move(options), std::move(window));
}

SshTransport::~SshTransport() = default;

std::unique_ptr<HostLink> SshTransport::open(const Host& host, const std::string& agent_key,
                                             LinkEvents events) {
  auto link = std::make_shared<SshLink>(shared_, host, agent_key, std::move(events));
  // What it says never comes from inside this call.
  shared_->loop.post([weak = std::weak_ptr(link)] {
    const auto waiting = weak.lock();
    if (waiting && !waiting->is_closed()) waiting->start();
  });
  return std::make_unique<LinkHandle<SshLink>>(std::move(link));
}

}  // namespace train
