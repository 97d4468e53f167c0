// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "config_schema/text/error.hpp"

namespace train {

/// Checks the value of --svg: it must be a file, because the answer goes to standard output. Class
/// `usage`.
Result<void> check_picture_file(const std::optional<std::string>& file);

}  // namespace train
