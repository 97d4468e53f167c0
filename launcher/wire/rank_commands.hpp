// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "launcher/wire/message.hpp"

namespace train {

// What the ranks of a host execute, as JSON. They differ in a few variables: the first one is
// written out, and of every other one what is not as in the one before it.

nlohmann::json json_of_ranks(const std::vector<RankCommand>& commands);

/// Throws `Malformed`, as the readers of json_fields.hpp do: also when the commands take more than
/// `most_rank_bytes`, since a short text may stand for many long ones.
std::vector<RankCommand> ranks_of_json(const nlohmann::json& value);

/// What the command takes in memory, in bytes, give or take a few for each variable.
std::size_t size_of(const RankCommand& command);

}  // namespace train
