// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/ssh_files.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "backends/ssh_config/jump_route.hpp"
#include "config_schema/hosts/host_address.hpp"

namespace train {

namespace {

SshConfigFiles config_files(const SshOptions& options) {
  return {options.user_config, options.system_config,   options.home,
          options.ssh_program, options.ssh_environment, options.config_deadline};
}

SshSettings settings_without_configuration(const SshOptions& options) {
  SshSettings settings;
  settings.user = options.default_user;
  settings.identity_files = default_identities();
  settings.user_known_hosts = options.known_hosts_files;
  settings.global_known_hosts = options.global_known_hosts_files;
  return settings;
}

std::vector<std::string> known_hosts_files(const SshSettings& settings) {
  std::vector<std::string> files = settings.user_known_hosts;
  files.insert(files.end(), settings.global_known_hosts.begin(), settings.global_known_hosts.end());
  return files;
}

std::string local_host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

SshDestination destination_of(const Host& host) {
  return {host.address.empty() ? host.name : host.address, host.user, host.port};
}

SshFiles::SshFiles(Loop& loop, const SshOptions& options)
    : loop_(loop),
      home_(options.home),
      local_user_(options.default_user),
      work_(loop, options.config_deadline),
      config_(loop, work_, config_files(options), settings_without_configuration(options)) {}

SshTokens SshFiles::tokens_of(const SshSettings& settings, const std::string& name) const {
  SshTokens tokens;
  tokens.home = home_;
  tokens.local_user = local_user_;
  tokens.user_id = std::to_string(::getuid());
  tokens.local_host = local_host_name();
  tokens.hostname = settings.hostname;
  tokens.name = name;
  tokens.alias = settings.host_key_alias;
  tokens.user = settings.user;
  tokens.port = settings.port;
  return tokens;
}

Result<std::string> SshFiles::jumps_of(const SshSettings& settings, const std::string& name) const {
  return expand_ssh_path(settings.proxy_jump, tokens_of(settings, name),
                         [](const char* variable) { return std::getenv(variable); });
}

void SshFiles::read_known_hosts(const SshSettings& settings, OnRead on_read) {
  const std::vector<std::string> files = known_hosts_files(settings);
  const auto [entry, is_new] = known_hosts_.try_emplace(files);
  ReadKnownHosts& read = entry->second;
  if (read.done) return answer(std::move(on_read), *read.done);
  read.waiting.push_back(std::move(on_read));
  if (!is_new) return;
  const auto known = std::make_shared<KnownHosts>();
  work_.run(
      "reading " + (files.empty() ? "the known_hosts files" : files.front()),
      [known, files] {
        for (const std::string& file : files) known->add_file(file);
      },
      // `known` is shared, because work that is late may still use it.
      [this, known, files](const Result<void>& done) {
        on_known_hosts(files, done ? std::move(*known) : KnownHosts(), done);
      });
}

void SshFiles::on_known_hosts(const std::vector<std::string>& files, KnownHosts known,
                              Result<void> done) {
  ReadKnownHosts& read = known_hosts_.at(files);
  read.known = std::move(known);
  read.done = std::move(done);
  for (OnRead& on_read : std::exchange(read.waiting, {})) answer(std::move(on_read), *read.done);
}

void SshFiles::append_known_host(const std::string& file, const std::string& line,
                                 OnRead on_written) {
  const auto written = std::make_shared<Result<void>>();
  work_.run(
      "writing " + file, [written, file, line] { *written = train::append_known_host(file, line); },
      [this, written, on_written = std::move(on_written)](Result<void> done) {
        if (done && !*written) done = tl::make_unexpected(written->error());
        answer(on_written, std::move(done));
      });
}

// A callback may destroy the owner of this object; then no other callback is called.
void SshFiles::answer(OnRead on_read, Result<void> done) {
  loop_.post(
      [alive = std::weak_ptr(is_alive_), on_read = std::move(on_read), done = std::move(done)] {
        if (!alive.expired()) on_read(done);
      });
}

KnownHosts& SshFiles::known_hosts_of(const SshSettings& settings) {
  return known_hosts_[known_hosts_files(settings)].known;
}

// In known_hosts, an alias has no port.
std::vector<KnownKey> SshFiles::known_keys_of(const SshSettings& settings) {
  const KnownHosts& known = known_hosts_of(settings);
  return settings.host_key_alias.empty() ? known.keys_of(settings.hostname, settings.port)
                                         : known.keys_of(settings.host_key_alias, default_ssh_port);
}

void SshFiles::host_settings_of(const Host& host,
                                std::function<void(Result<HostSettings>)> on_settings) {
  // Both call back only as long as this object lives.
  config_.settings_of(
      destination_of(host),
      [this, name = host.name, on_settings = std::move(on_settings)](Result<SshSettings> settings) {
        if (!settings) return on_settings(tl::make_unexpected(settings.error()));
        read_known_hosts(*settings,
                         [this, name, on_settings, settings = *settings](const Result<void>& read) {
                           if (!read) return on_settings(tl::make_unexpected(read.error()));
                           on_settings(host_settings(settings, name));
                         });
      });
}

// An invalid ProxyJump is left to ssh, which reports it.
HostSettings SshFiles::host_settings(const SshSettings& settings, const std::string& name) {
  HostSettings result{endpoint_text(settings.hostname, settings.port)};
  result.connect_timeout = settings.connect_timeout;
  if (!settings.user_known_hosts.empty())
    result.known_hosts_file = settings.user_known_hosts.front();
  if (const auto jumps = jumps_of(settings, name); jumps && !jumps->empty())
    if (const auto route = parse_jump_route(*jumps)) result.server = jump_server(route->last);
  const bool is_no = settings.strict_host_keys == StrictHostKeys::no;
  const bool accepts_new = is_no || settings.strict_host_keys == StrictHostKeys::accept_new;
  if (accepts_new && known_keys_of(settings).empty())
    result.new_host_key = is_no ? NewHostKey::accepted_for_no : NewHostKey::accepted;
  return result;
}

}  // namespace train
