// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/picture/cluster_picture.hpp"

namespace train {

/// The plan as a picture that a browser shows: see `picture_to_svg`. Hosts are folded into at most
/// 40 rows; `subject.most_rows` is not used.
std::string plan_to_svg(const PictureSubject& subject);

}  // namespace train
