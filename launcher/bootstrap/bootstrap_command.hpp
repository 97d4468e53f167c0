// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "config_schema/text/error.hpp"

namespace train {

/// The parameters of one exec request on a host. Every field consists of letters, digits and `._-`,
/// at most 1,000 of them.
struct BootstrapRequest {
  std::string nonce;  ///< new for every connection: identifies the answers and the temporary file
  std::string build_id;         ///< content name of the binary: `train-<build_id>`
  std::string agent_key;        ///< "<task>-<node rank>"
  std::string verb = "attach";  ///< the `train agent` command that runs with this key
};

/// The command line of the one exec request that starts the agent on a host, and uploads the binary
/// if it is missing. It is `exec /bin/sh -c '...' ...`: no login shell (sh, bash, zsh, csh, fish)
/// finds a quote, newline, backslash or `!` in it that it would misinterpret.
///
/// Its answers on stdout are lines that start with `bootstrap_marker(nonce)`:
///   ready [CONNECTION]  from the next byte on, stdin and stdout belong to the agent; CONNECTION is
///                       sshd's $SSH_CONNECTION, if set
///   need MACHINE SYSTEM (uname -m, uname -s) it expects `upload_header` and then the packed bytes
///                       on stdin; repeated if the place that received them is unusable
///   failed REASON       the reason for each place; nothing is left behind
/// The binary is searched for in ~/.cache/train, /var/tmp/train-UID, /tmp/train-UID and
/// /dev/shm/train-UID: folders of this user, not symbolic links, the last three not accessible to
/// other users. Each is entered once and the binary is run from inside (`./train-ID`), so that a
/// process that exchanges a folder cannot have another program run. A place is used only if the
/// binary has run there (`--version`). A field with other characters is an error of class `bug`.
Result<std::string> bootstrap_command(const BootstrapRequest& request);

/// The prefix of the answers of `bootstrap_command`. The command line itself does not contain it,
/// so a shell that echoes its commands causes no false match.
std::string bootstrap_marker(const std::string& nonce);

/// The line that precedes the packed (gzip) bytes of the binary. Sizes in bytes; the checksum is
/// SHA-256 of the unpacked file, in lower-case hexadecimal.
std::string upload_header(std::uint64_t packed_size, std::uint64_t size, const std::string& sha256);

}  // namespace train
