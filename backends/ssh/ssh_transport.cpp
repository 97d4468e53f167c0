// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/ssh_transport.hpp"

#include <fmt/format.h>
#include <libssh2.h>
#include <openssl/rand.h>

#include <utility>

#include "backends/link/host_settings.hpp"
#include "backends/link/link_handle.hpp"
#include "backends/posix/child.hpp"
#include "backends/ssh/ssh_link.hpp"
#include "backends/ssh/ssh_shared.hpp"
#include "backends/ssh_formats/wire_encoding.hpp"

namespace train {

SshOptions default_ssh_options(std::string home, std::string user) {
  SshOptions options;
  options.user_config = home + "/.ssh/config";
  options.system_config = "/etc/ssh/ssh_config";
  options.ssh_environment = ssh_environment(environment_texts());
  options.known_hosts_files = {home + "/.ssh/known_hosts", home + "/.ssh/known_hosts2"};
  options.global_known_hosts_files = {"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"};
  options.home = std::move(home);
  options.default_user = std::move(user);
  return options;
}

namespace {

Libssh2Algorithms libssh2_algorithms() {
  using Method = SshSession::Method;
  return {SshSession::supported(Method::key_exchange), SshSession::supported(Method::cipher),
          SshSession::supported(Method::mac), SshSession::supported(Method::host_key)};
}

}  // namespace

SshShared::SshShared(Loop& event_loop, SshOptions ssh_options,
                     std::shared_ptr<SetupWindow> setup_window, std::shared_ptr<SshFiles> ssh_files)
    : loop(event_loop),
      options(std::move(ssh_options)),
      window(std::move(setup_window)),
      files(std::move(ssh_files)),
      algorithms(libssh2_algorithms()),
      login_plans(loop, options.agent_deadline, options.agent_patience,
                  static_cast<bool>(options.ask), options.keys_deadline),
      held_keys(loop, options.print),
      passphrases(loop, options.ask),
      resolver(loop) {
  if (!window) window = std::make_shared<SetupWindow>(loop, options.max_setups);
  if (!files) files = std::make_shared<SshFiles>(loop, options);
}

void SshShared::accept_host_key(const SshSettings& settings, const Endpoint& host,
                                const std::string& blob, std::function<void()> on_done) {
  const auto tell = [this](const std::string& line) {
    if (options.print) options.print(line);
  };
  if (settings.strict_host_keys == StrictHostKeys::no &&
      !std::exchange(has_warned_of_strict_no_, true))
    tell(strict_no_warning);
  const std::string line = known_hosts_line(host.known_name, blob);
  const std::string key = key_type(blob) + " " + key_fingerprint(blob);
  if (settings.user_known_hosts.empty()) {
    files->known_hosts_of(settings).add(line, "this run");
    tell(fmt::format("the host key of {} is new and trusted for this run: {}", host.known_name,
                     key));
    return loop.post(std::move(on_done));
  }
  const std::string& file = settings.user_known_hosts.front();
  files->known_hosts_of(settings).add(line, file + " (new)");
  std::string salt(settings.hash_known_hosts ? 20 : 0, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(salt.data()), static_cast<int>(salt.size())) != 1)
    salt.clear();
  files->append_known_host(
      file, known_hosts_line(host.known_name, blob, salt),
      [weak = weak_from_this(), on_done = std::move(on_done), file, key,
       name = host.known_name](const Result<void>& written) {
        const auto self = weak.lock();
        if (!self) return;
        if (self->options.print)
          self->options.print(written
                                  ? fmt::format("the host key of {} is new and was added to {}: {}",
                                                name, file, key)
                                  : "warning: " + in_one_line(written.error()));
        on_done();
      });
}

SshTransport::SshTransport(Loop& loop, SshOptions options, std::shared_ptr<SetupWindow> window,
                           std::shared_ptr<SshFiles> files) {
  // Initialises libssh2 for the process; repeating it has no effect.
  libssh2_init(0);
  shared_ =
      std::make_shared<SshShared>(loop, std::move(options), std::move(window), std::move(files));
}

SshTransport::~SshTransport() { keep_sessions(false); }

void SshTransport::keep_sessions(bool are_kept) { shared_->host_sessions.keep(are_kept); }

std::unique_ptr<HostLink> SshTransport::open(const Host& host, const AgentCall& call,
                                             LinkEvents events) {
  auto link = std::make_shared<SshLink>(shared_, host, call, std::move(events));
  // Posted, so that no event comes from inside this call.
  shared_->loop.post([weak = std::weak_ptr(link)] {
    const auto waiting = weak.lock();
    if (waiting && !waiting->is_closed()) waiting->start();
  });
  return std::make_unique<LinkHandle<SshLink>>(std::move(link));
}

}  // namespace train
