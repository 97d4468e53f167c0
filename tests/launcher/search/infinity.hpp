// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

namespace train {

/// What a metric may be, too.
inline constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace train
