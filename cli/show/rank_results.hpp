// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launcher/record/task_record.hpp"

namespace train {

/// The ranks of a task as a table of at most `most_rows` (at least 8) rows, with what each uses and
/// how it has ended: a row each, else those that have failed first, and then one for neighbours of
/// a host that have ended alike, or for neighbouring hosts. Of several ranks it says the most that
/// one of them uses: "<=1.5 GiB". What does not fit even so is counted.
std::string rank_results_to_text(const std::vector<RankRecord>& ranks, std::size_t most_rows);

/// The rank whose own failure is on record, the lowest; null: none's is.
const RankRecord* failed_rank(const std::vector<RankRecord>& ranks);

}  // namespace train
