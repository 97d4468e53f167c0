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

/// What is done with a host key that no known_hosts file has; a changed one is always refused.
enum class StrictHostKeys {
  yes,
  ask,  ///< refused like `yes`: nobody is asked
  accept_new,
  no,  ///< treated like `accept_new`, with a warning
};

/// Which addresses of a name are connected to.
enum class AddressFamily { any, ipv4, ipv6 };

/// What ssh_config(5) says of one host: the options that matter here, in the words of `ssh -G`.
/// Empty texts and lists are options that say nothing; the defaults are ssh's.
struct SshSettings {
  std::string hostname;  ///< what is connected to
  std::string user;
  int port = default_ssh_port;
  AddressFamily address_family = AddressFamily::any;
  std::string bind_address;
  std::string bind_interface;
  std::optional<std::chrono::seconds> connect_timeout;  ///< also of the key exchange
  std::string proxy_jump;                               ///< "user@a:2200,b"
  std::string proxy_command;

  StrictHostKeys strict_host_keys = StrictHostKeys::ask;
  std::string host_key_alias;
  std::vector<std::string> user_known_hosts;  ///< the first one takes accepted keys
  std::vector<std::string> global_known_hosts;
  bool hash_known_hosts = false;
  std::string known_hosts_command;
  std::string revoked_host_keys;

  /// Files in the order in which they are tried, with their `~` and %-tokens as written.
  std::vector<std::string> identity_files;
  bool identities_only = false;  ///< of the agent's keys, only those of `identity_files`
  /// Empty or "SSH_AUTH_SOCK": that variable's; "none"; "$VARIABLE"; or the path of a socket.
  std::string identity_agent;
  std::vector<std::string> certificate_files;
  std::string pkcs11_provider;
  bool public_key_authentication = true;
  std::vector<std::string> preferred_authentications;  ///< empty: all, in ssh's order

  // Algorithms that may be used, best first; empty: whatever there is.
  std::vector<std::string> key_exchanges;
  std::vector<std::string> ciphers;
  std::vector<std::string> macs;
  std::vector<std::string> host_key_algorithms;
  std::vector<std::string> public_key_algorithms;

  bool operator==(const SshSettings&) const = default;
};

/// The files that ssh tries when none are configured, in its order.
std::vector<std::string> default_identities();
/// Whether these are the files that ssh tries when none are configured: missing ones are no news.
bool are_default_identities(const std::vector<std::string>& files);

/// Reads the output of `ssh -G`, of at most 1 MiB. Options that do not matter here are skipped.
/// Errors, of class `host`: not the output of `ssh -G`, with the line that is wrong.
Result<SshSettings> parse_ssh_settings(std::string_view output);

}  // namespace train
