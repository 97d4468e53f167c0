// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/picture/cluster_picture.hpp"
#include "launcher/picture/svg_page.hpp"

namespace train {

/// The picture as an SVG document of fixed width without external resources: no script, font or
/// link. A card for each row, in it a cell for each slot (several for one that wraps), and a
/// legend. Class `cell` with `data-slots` marks every cell; hosts with more than 256 slots are
/// drawn in proportion, with a cell for each group of slots.
std::string picture_to_svg(const ClusterPicture& picture, const PictureCaption& caption);

}  // namespace train
