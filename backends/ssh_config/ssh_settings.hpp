// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

constexpr int default_ssh_port = 22;

/// What to do with a host key that is in no known_hosts file; a changed key is always refused.
enum class StrictHostKeys {
  yes,
  ask,  ///< refused like `yes`: the user is not asked
  accept_new,
  no,  ///< treated like `accept_new`, with a warning
};

/// Which addresses of a name are used.
enum class AddressFamily { any, ipv4, ipv6 };

/// The settings of one host from ssh_config(5): the options that matter here, with the names of
/// `ssh -G`. Empty texts and lists are options without a value; the defaults are ssh's.
struct SshSettings {
  std::string hostname;  ///< name or address to connect to
  std::string user;
  int port = default_ssh_port;
  AddressFamily address_family = AddressFamily::any;
  std::string bind_address;
  std::string bind_interface;
  std::optional<std::chrono::seconds> connect_timeout;  ///< also for the key exchange
  std::string proxy_jump;                               ///< "user@a:2200,b"
  std::string proxy_command;

  StrictHostKeys strict_host_keys = StrictHostKeys::ask;
  std::string host_key_alias;
  std::vector<std::string> user_known_hosts;  ///< accepted keys are added to the first
  std::vector<std::string> global_known_hosts;
  bool hash_known_hosts = false;
  std::string known_hosts_command;
  std::string revoked_host_keys;

  /// Files in the order in which they are tried, with their `~` and %-tokens as written.
  std::vector<std::string> identity_files;
  bool identities_only = false;  ///< of the agent's keys, use only those of `identity_files`
  /// Empty or "SSH_AUTH_SOCK": the socket in that variable; "none"; "$VARIABLE"; or the path of a
  /// socket.
  std::string identity_agent;
  std::vector<std::string> certificate_files;
  std::string pkcs11_provider;
  bool public_key_authentication = true;
  std::vector<std::string> preferred_authentications;  ///< empty: all, in ssh's order

  // Allowed algorithms, best first; empty: all supported ones.
  std::vector<std::string> key_exchanges;
  std::vector<std::string> ciphers;
  std::vector<std::string> macs;
  std::vector<std::string> host_key_algorithms;
  std::vector<std::string> public_key_algorithms;

  bool operator==(const SshSettings&) const = default;
};

/// The files that ssh tries when none are configured, in its order.
std::vector<std::string> default_identities();
/// Whether all of these are files that ssh tries when none are configured: missing ones are not
/// reported.
bool are_default_identities(const std::vector<std::string>& files);

/// Parses the output of `ssh -G`, of at most 1 MiB. Options that do not matter here are skipped.
/// Errors, of class `host`: the text is not output of `ssh -G`, with the wrong line.
Result<SshSettings> parse_ssh_settings(std::string_view output);

}  // namespace train
