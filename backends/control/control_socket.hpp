// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"

namespace train {

// Sockets of the file system, by paths of any length: the kernel takes 107 bytes of one, so its
// folder is opened first. Both are non-blocking and close-on-exec; errors are of class `no_input`.

/// A socket at `path` that accepts connections, open to this user alone. What a dead process has
/// left there is replaced: only one process at a time may do this.
Result<Descriptor> listen_at(const std::string& path);

/// A connection to the socket at `path`. None where nobody listens there.
Result<Descriptor> connect_to(const std::string& path);

/// Whether the process on the other side of a connection is this user's, or root's.
bool is_of_this_user(int connection);

}  // namespace train
