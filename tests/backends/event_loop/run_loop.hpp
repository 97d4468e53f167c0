// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "backends/event_loop/loop.hpp"
#include "tests/support/waiting.hpp"

namespace train {

/// Runs the loop; a test that does not stop it fails instead of hanging: after ten seconds, by the
/// pace of the machine.
inline bool run(Loop& loop) {
  constexpr auto limit = std::chrono::seconds(10);
  const auto began = std::chrono::steady_clock::now();
  bool is_late = false;
  std::unique_ptr<Subscription> look;
  const std::function<void()> check = [&] {
    is_late = std::chrono::steady_clock::now() - began > testing::patience(limit);
    if (is_late) return loop.stop();
    look = loop.after(limit, check);
  };
  look = loop.after(limit, check);
  loop.run();
  return !is_late;
}

}  // namespace train
