// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "launcher/live/live_hosts.hpp"
#include "launcher/picture/cluster_picture.hpp"

namespace train {

/// Who has which slot of these hosts, as a picture like that of a plan. Hosts that look the same
/// share a row; those of which nothing is known have no slots in it.
ClusterPicture draw_live(const std::vector<LiveHost>& hosts);

}  // namespace train
