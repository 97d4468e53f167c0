// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "launcher/plan/plan.hpp"

namespace train {

/// The ranks of a trial as a table (RANK HOST LOCAL SLOTS BATCH; GPUS, with the machines' device
/// numbers, if all slots are devices) of at most `most_lines` lines (at least 6) and `width`
/// columns (at least 40), including its heading. One line per rank if they fit; else one for ranks
/// of a host with the same batch; else one for equal neighbouring hosts. Ranks that still do not
/// fit are counted in a line of its own.
std::string ranks_to_text(const Trial& trial, std::size_t most_lines, std::size_t width);

}  // namespace train
