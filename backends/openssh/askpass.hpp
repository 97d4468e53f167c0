// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace train {

/// Whether a process below `pid` runs this program, which may be a script. Empty: none.
bool is_run_below(int pid, const std::string& program);

}  // namespace train
