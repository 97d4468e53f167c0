// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "launcher/picture/cluster_picture.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// A picture of where the ranks of a task are or were, from their records: its hosts as rows,
/// folded to at most `most_rows` (at least 4), with their slots up to the last one that the task
/// uses. Other slots are left out: their holders are not recorded.
ClusterPicture draw_task(const std::vector<RankRecord>& ranks, std::size_t most_rows);

}  // namespace train
