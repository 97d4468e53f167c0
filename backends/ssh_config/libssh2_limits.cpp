// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_config/libssh2_limits.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace train {

namespace {

using MaybeObstacle = std::optional<Libssh2Obstacle>;

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : ",").append(word);
  return text;
}

MaybeObstacle option_is_set(std::string_view option, std::string_view value) {
  if (value.empty()) return std::nullopt;
  return Libssh2Obstacle{
      fmt::format("ssh's configuration has {} '{}' for it", option, value),
      fmt::format("write '{} none' for this host, if it can be reached without", option)};
}

MaybeObstacle way_to_host(const SshSettings& settings) {
  if (auto command = option_is_set("ProxyCommand", settings.proxy_command)) return command;
  // These options have no value "none".
  const bool is_address = !settings.bind_address.empty();
  const std::string& bound = is_address ? settings.bind_address : settings.bind_interface;
  if (bound.empty()) return std::nullopt;
  return Libssh2Obstacle{fmt::format("ssh's configuration has {} '{}' for it",
                                     is_address ? "BindAddress" : "BindInterface", bound),
                         "remove the option for this host, and let the routes decide"};
}

MaybeObstacle ways_to_log_in(const SshSettings& settings) {
  if (!settings.certificate_files.empty())
    return Libssh2Obstacle{
        fmt::format("it wants the certificate '{}'", settings.certificate_files.front()),
        "let the host accept the bare key (its authorized_keys), and remove CertificateFile"};
  if (!settings.pkcs11_provider.empty())
    return Libssh2Obstacle{
        fmt::format("its keys are in a token ('PKCS11Provider {}')", settings.pkcs11_provider),
        "load them into ssh-agent instead: ssh-add -s " + settings.pkcs11_provider};
  if (!settings.public_key_authentication)
    return Libssh2Obstacle{"'PubkeyAuthentication no' leaves no way to log in but others than keys",
                           "allow keys for this host: PubkeyAuthentication yes"};
  const auto& methods = settings.preferred_authentications;
  if (!methods.empty() && !contains(methods, "publickey"))
    return Libssh2Obstacle{
        fmt::format("'PreferredAuthentications {}' has no publickey", joined(methods)),
        "add publickey to PreferredAuthentications for this host"};
  return std::nullopt;
}

bool is_usable(std::string_view key_type, const SshSettings& settings,
               const std::vector<std::string>& supported) {
  const auto has = [&](std::string_view name) {
    return contains(supported, name) &&
           (settings.host_key_algorithms.empty() || contains(settings.host_key_algorithms, name));
  };
  if (key_type != "ssh-rsa") return has(key_type);
  return has("rsa-sha2-512") || has("rsa-sha2-256") || has("ssh-rsa");
}

MaybeObstacle host_keys(const SshSettings& settings, const std::vector<KnownKey>& known,
                        const std::vector<std::string>& supported) {
  if (!settings.known_hosts_command.empty())
    return option_is_set("KnownHostsCommand", settings.known_hosts_command);
  if (!settings.revoked_host_keys.empty())
    return option_is_set("RevokedHostKeys", settings.revoked_host_keys);
  const KnownKey* authority = nullptr;
  const KnownKey* unusable = nullptr;
  for (const KnownKey& key : known) {
    if (key.revoked) continue;
    if (key.authority)
      authority = &key;
    else if (is_usable(key.type, settings, supported))
      return std::nullopt;
    else
      unusable = &key;
  }
  if (unusable)
    return Libssh2Obstacle{fmt::format("its known host key is of type {} ({}:{}), which libssh2 "
                                       "cannot check as securely",
                                       unusable->type, unusable->file, unusable->line),
                           "add its ed25519 or ecdsa host key to that file as well"};
  if (authority)
    return Libssh2Obstacle{fmt::format("its host key is known through a certificate authority "
                                       "only ({}:{})",
                                       authority->file, authority->line),
                           "add its plain host key to that file as well: on the host it is "
                           "in /etc/ssh/ssh_host_ed25519_key.pub"};
  return std::nullopt;
}

MaybeObstacle no_common(std::string_view option, const std::vector<std::string>& allowed,
                        const std::vector<std::string>& supported) {
  if (!common_algorithms(allowed, supported).empty()) return std::nullopt;
  return Libssh2Obstacle{fmt::format("libssh2 has none of '{} {}'", option, joined(allowed)),
                         fmt::format("allow one of these as well: {}", joined(supported))};
}

}  // namespace

std::optional<Libssh2Obstacle> why_not_libssh2(const SshSettings& settings,
                                               const std::vector<KnownKey>& known,
                                               const Libssh2Algorithms& algorithms) {
  if (auto obstacle = way_to_host(settings)) return obstacle;
  if (auto obstacle = ways_to_log_in(settings)) return obstacle;
  if (auto obstacle = host_keys(settings, known, algorithms.host_keys)) return obstacle;
  if (auto none = no_common("KexAlgorithms", settings.key_exchanges, algorithms.key_exchanges))
    return none;
  if (auto none = no_common("Ciphers", settings.ciphers, algorithms.ciphers)) return none;
  if (auto none = no_common("MACs", settings.macs, algorithms.macs)) return none;
  return no_common("HostKeyAlgorithms", settings.host_key_algorithms, algorithms.host_keys);
}

std::vector<std::string> common_algorithms(const std::vector<std::string>& allowed,
                                           const std::vector<std::string>& supported) {
  if (allowed.empty()) return supported;
  std::vector<std::string> common;
  for (const std::string& name : allowed)
    if (contains(supported, name)) common.push_back(name);
  return common;
}

Error obstacle_error(const Libssh2Obstacle& obstacle) {
  return make_error(ErrorClass::host,
                    "it can be reached by OpenSSH's own client only: " + obstacle.reason,
                    "take 'transport: openssh' for it, or " + obstacle.next_step);
}

}  // namespace train
