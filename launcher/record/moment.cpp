// SPDX-License-Identifier: Apache-2.0
#include "launcher/record/moment.hpp"

#include <algorithm>

namespace train {

std::chrono::milliseconds left_of(std::chrono::milliseconds span, const Moment& since,
                                  const Moment& now) {
  if (!since.boot_id.empty() && since.boot_id == now.boot_id)
    return std::min(span, span - (now.since_boot - since.since_boot));
  const auto by_wall = std::chrono::milliseconds(now.wall - since.wall);
  return std::min(span, span - std::min(now.since_boot, by_wall));
}

}  // namespace train
