// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "backends/ssh_formats/known_hosts.hpp"
#include "backends/ssh_keys/identities.hpp"
#include "backends/ssh_session/arrival_limits.hpp"
#include "backends/ssh_session/ssh_channel.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// The target of a link, for messages.
struct Endpoint {
  std::string address;  ///< as the user wrote it: a name or an address
  int port = 22;
  std::string known_name;        ///< its name in known_hosts files
  std::string known_hosts_file;  ///< where an accepted key is added
};

/// Errors before the login, of class `host`, each with the next step. `at` is "10.77.1.3:22".

/// A failed connect, with its errno.
Error connect_error(int error, const std::string& at);
/// A name has no address of the family that AddressFamily asks for.
Error family_error(const std::string& host);
/// The server ended the connection before it proved its identity; `greeting` is what it sent.
Error greeting_error(const std::string& at, std::string_view greeting, int error, int tries);
/// The host key was not accepted: `decision` is not `trusted`.
Error host_key_error(const Endpoint& host, const std::string& shown_blob,
                     const HostKeyDecision& decision, const std::vector<KnownKey>& known);
/// The login failed. `tried` are the keys that the server refused, each with the reason.
Error login_error(const std::string& user, const std::vector<std::string>& tried,
                  const std::vector<Diagnostic>& unusable);
/// The connection broke; `doing` says when: "during the key exchange".
Error lost_error(const std::string& at, int error, std::string_view doing);
/// No bytes arrived for `delay`; `doing` says when.
Error silence_error(const std::string& at, std::chrono::nanoseconds delay, std::string_view doing);
/// Bytes arrived, but the step was not done after `delay`; `doing` says when.
Error slow_error(const std::string& at, std::chrono::nanoseconds delay, std::string_view doing);
/// The server sent too much; `greeting` is the beginning.
Error excess_error(const std::string& at, Excess excess, std::string_view greeting);
/// The server ended the connection while this side waited for a signature of `key`.
Error signature_too_late_error(const std::string& at, const std::string& key);
/// The negotiation with the server failed.
Error negotiation_error(const std::string& at, const std::string& trouble);
/// The jump host does not connect to `at`: its own rules forbid that, or its attempt failed.
Error forwarding_error(const std::string& jump_host, const std::string& at, bool is_forbidden);
/// The jump host did not report within `delay` whether it reached the host.
Error forwarding_timeout_error(const std::string& jump_host, const std::string& at,
                               std::chrono::nanoseconds delay);
/// Turns an error of a jump host into one of the hosts behind it.
Error jump_host_error(const std::string& jump_host, const Error& why);
/// How the remote command ended: "exited with status 3", "was killed by signal KILL".
std::string exit_text(const RemoteExit& exit);

}  // namespace train
