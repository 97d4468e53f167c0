// SPDX-License-Identifier: Apache-2.0
#include "launcher/record/moment.hpp"

namespace train {

bool has_surely_passed(std::chrono::milliseconds span, const Moment& since, const Moment& now) {
  if (!since.boot_id.empty() && since.boot_id == now.boot_id)
    return now.since_boot - since.since_boot > span;
  return now.since_boot > span && std::chrono::milliseconds(now.wall - since.wall) > span;
}

}  // namespace train
