// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/ssh_transport.hpp"

#include <libssh2.h>

#include "backends/ssh/ssh_link.hpp"
#include "backends/ssh/ssh_shared.hpp"

namespace train {

namespace {

// The handle of the owner; the link itself may still be in the middle of a callback when it goes.
class LinkHandle final : public HostLink {
 public:
  explicit LinkHandle(std::shared_ptr<SshLink> link) : link_(std::move(link)) {}
  ~LinkHandle() override { link_->close(); }
  LinkHandle(const LinkHandle&) = delete;
  LinkHandle& operator=(const LinkHandle&) = delete;

  void send(std::string bytes) override { link_->send(std::move(bytes)); }
  std::size_t unsent_bytes() const override { return link_->unsent_bytes(); }

 private:
  std::shared_ptr<SshLink> link_;
};

}  // namespace

Result<SshOptions> default_ssh_options(std::string home, std::string user,
                                       std::string agent_socket) {
  SshOptions options;
  options.known_hosts_files = {home + "/.ssh/known_hosts", home + "/.ssh/known_hosts2",
                               "/etc/ssh/ssh_known_hosts"};
  options.home = std::move(home);
  options.default_user = std::move(user);
  options.agent_socket = std::move(agent_socket);
  auto binary = running_binary();
  if (!binary) return tl::make_unexpected(binary.error());
  options.binary_path = std::move(binary->path);
  options.build_id = std::move(binary->build_id);
  return options;
}

SshShared::SshShared(Loop& event_loop, SshOptions ssh_options,
                     std::shared_ptr<SetupWindow> setup_window)
    : loop(event_loop),
      window(std::move(setup_window)),
      options(std::move(ssh_options)),
      identities(options.home, options.agent_socket, options.agent_deadline),
      packer(loop, options.binary_path),
      resolver(loop) {
  if (!window) window = std::make_shared<SetupWindow>(loop, options.max_setups);
  for (const std::string& file : options.known_hosts_files) known_hosts.add_file(file);
}

void SshShared::enqueue(const std::shared_ptr<SshLink>& link) {
  window->enqueue([weak = std::weak_ptr(link)] {
    const auto started = weak.lock();
    if (!started || started->is_closed()) return false;
    started->start();
    return true;
  });
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
  shared_->enqueue(link);
  return std::make_unique<LinkHandle>(std::move(link));
}

}  // namespace train
