// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace train {

/// The absolute path of the running program's own file; /proc/self/exe when it has been replaced or
/// removed meanwhile, which still executes it.
std::string own_binary();

}  // namespace train
