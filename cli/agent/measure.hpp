// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config_schema/text/error.hpp"

namespace train {

// The measurements that ranks run for `check --full` and `--bench`. A rank finds its peers in its
// environment. Rank 0 returns the line with the results of all ranks, which it prints; other ranks
// return an empty text. Only the ranks of a task may call these; outside of one they fail with
// class `usage`.

/// `measure-links`: measures the links between the hosts.
Result<std::string> measure_links_of_task();
/// `measure-allreduce PYTHON`: measures the all-reduce of the NCCL that this Python loads, with one
/// GPU per rank.
Result<std::string> measure_allreduce_of_task(const std::string& python);

}  // namespace train
