// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launcher/record/task_record.hpp"

namespace train {

/// The ranks of a task as a table of at most `most_rows` (at least 8) rows, with the resource usage
/// and the end of each rank. If they do not fit in one row each, failed ranks come first, and then
/// neighbouring ranks that ended alike share a row, first per host, then across hosts. For several
/// ranks a row shows the maximum: "<=1.5 GiB". Ranks that still do not fit are counted.
std::string rank_results_to_text(const std::vector<RankRecord>& ranks, std::size_t most_rows);

/// "1.5 GiB", "12.0 MiB".
std::string memory_use_text(std::int64_t bytes);

/// The lowest rank whose own failure is recorded; null if there is none.
const RankRecord* failed_rank(const std::vector<RankRecord>& ranks);

}  // namespace train
