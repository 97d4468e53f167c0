// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "launcher/picture/cluster_picture.hpp"

namespace train {

/// Rows of one host each, in file order, made fewer until there are at most `most` (at least 4), in
/// the steps that `draw_cluster` promises. Hosts with ranks are given room before others.
std::vector<PictureRow> fold_rows(const std::vector<PictureRow>& rows, std::size_t most);

}  // namespace train
