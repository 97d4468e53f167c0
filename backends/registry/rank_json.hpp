// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/record/task_record.hpp"

namespace train {

/// Ranks as one line of JSON. Bytes that are no UTF-8 are replaced.
std::string ranks_to_json(const std::vector<RankRecord>& ranks);

/// Nothing when the text is not what `ranks_to_json` writes.
std::optional<std::vector<RankRecord>> ranks_from_json(const std::string& text);

}  // namespace train
