// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"

namespace train {

// Sockets in the file system, with paths of any length: the kernel accepts only 107 bytes, so the
// folder is opened first. Both sockets are non-blocking and close-on-exec; errors are of class
// `no_input`.

/// Creates a socket at `path` that accepts connections of this user only. Replaces a socket that a
/// dead process has left: only one process at a time may call this.
Result<Descriptor> listen_at(const std::string& path);

/// Connects to the socket at `path`. An empty descriptor when no process listens there.
Result<Descriptor> connect_to(const std::string& path);

/// Whether the peer of the connection runs as this user or as root.
bool is_of_this_user(int connection);

}  // namespace train
