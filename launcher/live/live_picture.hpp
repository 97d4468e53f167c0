// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "launcher/live/live_hosts.hpp"
#include "launcher/picture/cluster_picture.hpp"

namespace train {

/// The holders of the slots of these hosts, as a picture like that of a plan. Hosts that look the
/// same share a row; hosts without a report have no slots in it.
ClusterPicture draw_live(const std::vector<LiveHost>& hosts);

}  // namespace train
