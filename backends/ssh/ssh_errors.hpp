// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/ssh/identities.hpp"
#include "backends/ssh/known_hosts.hpp"
#include "backends/ssh/ssh_session.hpp"
#include "config_schema/error.hpp"

namespace train {

/// Where a link goes, for messages.
struct Endpoint {
  std::string address;  ///< as the user wrote it: a name or an address
  int port = 22;
  std::string known_name;        ///< what known_hosts files call it
  std::string known_hosts_file;  ///< where an accepted key belongs
};

/// What went wrong on the way to a host, of class `host`, each with the next step. `at` is
/// "10.77.1.3:22".

/// The errno of a failed connect.
Error connect_error(int error, const std::string& at);
/// A name has no address of the family that AddressFamily asks for.
Error family_error(const std::string& host);
/// The server ended the connection before it proved who it is; `greeting` is what it said instead.
Error greeting_error(const std::string& at, std::string_view greeting, int error, int tries);
/// `decision` is any but `trusted`.
Error host_key_error(const Endpoint& host, const std::string& shown_blob,
                     const HostKeyDecision& decision, const std::vector<KnownKey>& known);
/// `tried` are the keys that the server refused, each with the reason.
Error login_error(const std::string& user, const std::vector<std::string>& tried,
                  const std::vector<Diagnostic>& unusable);
/// The connection broke, in the words of `doing`: "during the key exchange".
Error lost_error(const std::string& at, int error, std::string_view doing);
/// How the remote command ended: "exited with status 3", "was killed by signal KILL".
std::string exit_text(const RemoteExit& exit);

}  // namespace train
