// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace train {

/// Whether `name` matches a pattern of ssh_config(5), with `*` and `?`. Linear in time.
bool matches_name_pattern(std::string_view pattern, std::string_view name);

/// ASCII letters in lower case, as ssh compares host names.
std::string lower_case(std::string_view text);

}  // namespace train
