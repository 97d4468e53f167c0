// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace train {

/// Whether a descendant of `pid` runs this program, which may be a script. False when `program` is
/// empty.
bool is_run_below(int pid, const std::string& program);

}  // namespace train
