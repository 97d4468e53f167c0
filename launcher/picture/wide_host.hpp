// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "launcher/picture/cluster_picture.hpp"

namespace train {

/// The runs of a host with more slots than there is room for, made fewer: neighbouring ranks become
/// one run ("0-127") when there are more than `most` runs. Nothing where that is not enough.
std::vector<SlotRun> coarse_runs(const HostLook& look, std::size_t most);

/// Shares `room` columns among runs by their slots, each at least what it needs: `least` of the
/// same index. Empty when that is more than there is.
std::vector<std::size_t> share_columns(const std::vector<SlotRun>& runs,
                                       const std::vector<std::size_t>& least, std::size_t room);

}  // namespace train
