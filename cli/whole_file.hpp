// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "config_schema/text/error.hpp"

namespace train {

/// Writes a file so that others see either what was there before or all of `text`: beside it under
/// another name, then renamed over it. A symbolic link is followed; what is no regular file (a
/// device, a pipe) is written as it stands. Errors are of class `no_input` and name the path.
Result<void> write_file(const std::string& path, std::string_view text);

}  // namespace train
