// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/ssh_transport.hpp"

#include <fmt/format.h>
#include <libssh2.h>
#include <limits.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <algorithm>

#include "backends/ssh/known_host_file.hpp"
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
  options.user_config = home + "/.ssh/config";
  options.system_config = "/etc/ssh/ssh_config";
  options.known_hosts_files = {home + "/.ssh/known_hosts", home + "/.ssh/known_hosts2"};
  options.global_known_hosts_files = {"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"};
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

SshSettings settings_without_configuration(const SshOptions& options) {
  SshSettings settings;
  settings.user = options.default_user;
  settings.identity_files = default_identities();
  settings.user_known_hosts = options.known_hosts_files;
  settings.global_known_hosts = options.global_known_hosts_files;
  return settings;
}

SshConfigFiles config_files(const SshOptions& options) {
  return {options.user_config, options.system_config, options.home, options.ssh_program,
          options.config_deadline};
}

Libssh2Algorithms libssh2_algorithms() {
  using Method = SshSession::Method;
  return {SshSession::supported(Method::key_exchange), SshSession::supported(Method::cipher),
          SshSession::supported(Method::mac), SshSession::supported(Method::host_key)};
}

}  // namespace

SshShared::SshShared(Loop& event_loop, SshOptions ssh_options)
    : loop(event_loop),
      options(std::move(ssh_options)),
      config(loop, config_files(options), settings_without_configuration(options)),
      algorithms(libssh2_algorithms()),
      identities(options.agent_deadline),
      packer(loop, options.binary_path),
      resolver(loop),
      random_(random_seed()) {}

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
