// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace train {

/// What `train --version` prints: "train VERSION", then a line each for the commit (where the build
/// had git), the version of what launchers and agents send each other, and the libraries inside.
/// Defined in build_info.cpp, which build_info.cmake makes at each build from build_info.cpp.in.
std::string build_info();

}  // namespace train
