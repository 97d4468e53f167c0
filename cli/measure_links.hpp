// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config_schema/text/error.hpp"

namespace train {

/// `measure-links`: measures the links between the ranks of this task, as the environment of a rank
/// names them, one rank on each host. Rank 0 gets the line that it is to print, the others nothing.
/// Class `usage` outside of a task, `host` where the ranks do not come together.
Result<std::string> measure_links_of_task();

}  // namespace train
