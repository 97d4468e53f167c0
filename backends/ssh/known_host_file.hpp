// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config_schema/text/error.hpp"

namespace train {

/// Adds a line to a known_hosts file. The file is made, readable for its owner only, with its
/// folder if that is all that is missing. Errors, of class `host`, say why it cannot be written.
Result<bool> append_known_host(const std::string& path, const std::string& line);

}  // namespace train
