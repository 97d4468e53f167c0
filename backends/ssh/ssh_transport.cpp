// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/ssh_transport.hpp"

#include <fmt/format.h>
#include <libssh2.h>
#include <limits.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <algorithm>

#include "backends/ssh/ssh_link.hpp"
#include "backends/ssh/ssh_shared.hpp"
#include "backends/ssh/wire_encoding.hpp"

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
  // Read through /proc, it is the running file even when another was installed over it.
  options.binary_path = "/proc/self/exe";
  options.build_id = build_id_of_this_program();
  if (options.build_id.empty()) {
    const auto packed = pack_binary(options.binary_path);
    if (!packed)
      return fail(ErrorClass::bug, "cannot read the running program from /proc/self/exe");
    options.build_id = packed->sha256;
  }
  return options;
}

namespace {

// std::random_device would ask for glibc 2.36 on every host.
std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&seed), sizeof seed) == 1) return seed;
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

SshShared::SshShared(Loop& event_loop, SshOptions ssh_options)
    : loop(event_loop),
      options(std::move(ssh_options)),
      identities(options.home, options.agent_socket, options.agent_deadline),
      packer(loop, options.binary_path),
      resolver(loop),
      random_(random_seed()) {
  for (const std::string& file : options.known_hosts_files) known_hosts.add_file(file);
}

void SshShared::enqueue(const std::shared_ptr<SshLink>& link) {
  waiting_.push_back(link);
  post_start_next();
}

void SshShared::release_setup() {
  --setups_;
  if (!waiting_.empty()) post_start_next();
}

void SshShared::post_start_next() {
  loop.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->start_next();
  });
}

void SshShared::start_next() {
  while (setups_ < options.max_setups && !waiting_.empty()) {
    const auto link = waiting_.front().lock();
    waiting_.pop_front();
    if (!link || link->is_closed()) continue;
    ++setups_;
    link->start();
  }
}

nanoseconds SshShared::backoff(int tries) {
  const double step = 0.1 * static_cast<double>(1 << std::clamp(tries - 1, 0, 4));
  const double seconds = step * std::uniform_real_distribution<>(0.5, 1.5)(random_);
  return std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(seconds));
}

std::string SshShared::nonce() {
  std::string bytes(16, '\0');
  // Not a secret, but nobody who prints into the stream should guess it. The generator that stands
  // in when the system has no entropy is good enough to tell connections apart.
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size())) !=
      1)
    for (char& c : bytes) c = static_cast<char>(random_());
  return hexadecimal(bytes);
}

SshTransport::SshTransport(Loop& loop, SshOptions options) {
  // Also sets up the process for all sessions; doing it again does nothing.
  libssh2_init(0);
  shared_ = std::make_shared<SshShared>(loop, std::move(options));
}

SshTransport::~SshTransport() = default;

std::unique_ptr<HostLink> SshTransport::open(const Host& host, const std::string& agent_key,
                                             LinkEvents events) {
  auto link = std::make_shared<SshLink>(shared_, host, agent_key, std::move(events));
  shared_->enqueue(link);
  return std::make_unique<LinkHandle>(std::move(link));
}

}  // namespace train
