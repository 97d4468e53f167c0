// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "config_schema/text/error.hpp"

namespace train {

/// What is wrong with the value of --svg: a picture goes to a file, beside the answer. Class
/// `usage`.
Result<void> check_picture_file(const std::optional<std::string>& file);

}  // namespace train
