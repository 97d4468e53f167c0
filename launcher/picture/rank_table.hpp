// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "launcher/plan/plan.hpp"

namespace train {

/// The ranks of a trial as a table (RANK HOST LOCAL SLOTS BATCH; GPUS where all slots are devices,
/// by the numbers that their machines give them) of at most `most_lines` lines (at least 6) and
/// `width` columns (at least 40), its heading included: a line each, else one for ranks of a host
/// that take the same batch, else one for neighbouring hosts that are alike; what does not fit even
/// so is counted in a line of its own.
std::string ranks_to_text(const Trial& trial, std::size_t most_lines, std::size_t width);

}  // namespace train
