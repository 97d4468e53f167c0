// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "launcher/wire/message.hpp"

namespace train {

// JSON of the commands of a host's ranks. They differ in a few variables only: the first command is
// written in full, each further one as its differences from the one before.

nlohmann::json json_of_ranks(const std::vector<RankCommand>& commands);

/// Throws `Malformed`, as the readers of json_fields.hpp do: also if the commands take more than
/// `most_rank_bytes`, since a short text may expand to many long ones.
std::vector<RankCommand> ranks_of_json(const nlohmann::json& value);

/// Approximate memory of the command, in bytes.
std::size_t size_of(const RankCommand& command);

}  // namespace train
