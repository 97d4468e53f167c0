// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launcher/record/recorded_event.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// The ranks of a task as a table of at most `most_rows` (at least 8) rows, with the resource usage
/// and the end of each rank. If they do not fit in one row each, failed ranks come first, and then
/// neighbouring ranks that ended alike share a row, first per host, then across hosts. For several
/// ranks a row shows the maximum: "<=1.5 GiB". Ranks that still do not fit are counted.
std::string rank_results_to_text(const std::vector<RankRecord>& ranks, std::size_t most_rows);

/// How a rank has ended: "exit 1", "SIGKILL (stopped by train)", or "-".
std::string how_ended(const RankRecord& rank);
/// "12.5 MiB", "1.5 GiB".
std::string memory_use_text(std::int64_t bytes);

/// The rank whose own failure came first: the last one that an event names so, else the lowest one
/// that has failed; null if there is none.
const RankRecord* failed_rank(const std::vector<RankRecord>& ranks,
                              const std::vector<RecordedEvent>& events);

}  // namespace train
