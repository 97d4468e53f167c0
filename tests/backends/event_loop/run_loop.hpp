// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "backends/event_loop/loop.hpp"

namespace train {

/// Runs the loop; a test that does not stop it fails instead of hanging.
inline bool run(Loop& loop) {
  bool is_late = false;
  const auto limit = loop.after(std::chrono::seconds(10), [&] {
    is_late = true;
    loop.stop();
  });
  loop.run();
  return !is_late;
}

}  // namespace train
