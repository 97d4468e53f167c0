// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config_schema/text/error.hpp"

namespace train {

// What the ranks do that `check --full` and `--bench` start. The environment of a rank says who the
// others are. Of rank 0 the line of what all have found, which it prints; of others nothing.
// Nothing but the ranks of a task calls these: else an error of class `usage`.

/// `measure-links`: the links between the hosts.
Result<std::string> measure_links_of_task();
/// `measure-allreduce PYTHON`: the all-reduce of the NCCL that this Python loads, of one GPU of
/// each rank.
Result<std::string> measure_allreduce_of_task(const std::string& python);

}  // namespace train
