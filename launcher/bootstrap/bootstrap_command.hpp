// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "config_schema/text/error.hpp"

namespace train {

/// What one exec request on a host is for. Every field is made of letters, digits and `._-`, at
/// most 1,000 of them.
struct BootstrapRequest {
  std::string nonce;      ///< new for every connection: marks the answers and the temporary file
  std::string build_id;   ///< content name of the binary: `train-<build_id>`
  std::string agent_key;  ///< "<task>-<node rank>"
  std::string verb = "attach";  ///< the command of `train agent` that is run with this key
};

/// The command line of the one exec request that starts the agent on a host, shipping the binary
/// if it is not there. It is `exec /bin/sh -c '...' ...`: whatever the login shell (sh, bash, zsh,
/// csh, fish), it finds no quote, newline, backslash or `!` to trip over.
///
/// What it says on stdout are lines that start with `bootstrap_marker(nonce)`:
///   ready [CONNECTION]  and from the next byte on stdin and stdout are the agent's; sshd's
///                       $SSH_CONNECTION, if there is one
///   need MACHINE SYSTEM (uname -m, uname -s) it wants `upload_header` and then the packed bytes
///                       on stdin; comes again when the place that took them turned out unusable
///   failed REASON       what each place said; nothing is left behind
/// The binary is looked for in ~/.cache/train, /var/tmp/train-UID, /tmp/train-UID and
/// /dev/shm/train-UID: folders of our own, not symbolic links, the last three open to nobody else.
/// Each is entered once and the binary is run from inside (`./train-ID`), so that nobody who
/// exchanges a folder has another program run. A place is used only when the binary ran there
/// (`--version`). A field outside its alphabet is an error of class `bug`.
Result<std::string> bootstrap_command(const BootstrapRequest& request);

/// What the answers of `bootstrap_command` start with. The command line itself does not contain it,
/// so a shell that echoes its commands confuses nobody.
std::string bootstrap_marker(const std::string& nonce);

/// The line that precedes the packed (gzip) bytes of the binary. Sizes in bytes; the checksum is
/// SHA-256 of the unpacked file, in lower-case hexadecimal.
std::string upload_header(std::uint64_t packed_size, std::uint64_t size, const std::string& sha256);

}  // namespace train
