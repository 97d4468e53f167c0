// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// How many insertions, deletions, replacements and swaps of neighbours turn one word into the
/// other; `limit + 1` as soon as it is more than `limit`.
int edit_distance(std::string_view from, std::string_view to, int limit);

/// The candidate that the word was probably meant to be; nothing when none is near. Case and the
/// difference between `-` and `_` count for nothing; ties go to the earlier candidate. A word that
/// is near to none may still be the beginning of one ("slots" of "slots_per_trial").
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

/// "did you mean 'x'?", or empty when nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace train
