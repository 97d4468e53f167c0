// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace train {

// The libraries that the program contains, their licenses, and its own: cli/licenses.txt and
// LICENSE, without the last newline.
std::string_view licenses();

}  // namespace train
