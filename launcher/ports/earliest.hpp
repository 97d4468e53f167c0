// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <optional>

#include "launcher/ports/clock.hpp"

namespace train {

/// The earliest of these instants; nothing if there is none.
inline std::optional<Instant> earliest(std::initializer_list<std::optional<Instant>> instants) {
  std::optional<Instant> first;
  for (const auto& each : instants)
    if (each && (!first || *each < *first)) first = each;
  return first;
}

}  // namespace train
