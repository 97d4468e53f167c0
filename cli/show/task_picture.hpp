// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "launcher/picture/cluster_picture.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// Where the ranks of a task are, or were, as their records say it: its hosts as rows, folded to at
/// most `most_rows` (at least 4), with their slots up to the last one that the task has. Slots that
/// are not the task's are left out: who has them is not on record.
ClusterPicture draw_task(const std::vector<RankRecord>& ranks, std::size_t most_rows);

}  // namespace train
