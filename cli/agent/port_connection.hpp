// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/text/error.hpp"

namespace train {

/// Connects to this port of this machine's loopback, and copies standard input there and what comes
/// back to standard output, until the other side closes. Class `host` if nothing listens there.
Result<void> connect_streams_to_port(int port);

}  // namespace train
