// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/record/task_record.hpp"

namespace train {

/// Ranks as one line of JSON. Bytes that are not valid UTF-8 are replaced.
std::string ranks_to_json(const std::vector<RankRecord>& ranks);

/// Returns nothing when the text is not in the format of `ranks_to_json`.
std::optional<std::vector<RankRecord>> ranks_from_json(const std::string& text);

}  // namespace train
