// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "backends/event_loop/loop.hpp"
#include "tests/support/waiting.hpp"

namespace train::testing {

/// Runs the loop until the condition holds, looked at each millisecond; false when it does not within
/// the limit, which is for an idle machine (`eventually`).
inline bool loop_until(Loop& loop, const std::function<bool()>& condition,
                       std::chrono::milliseconds limit = std::chrono::seconds(10)) {
  if (condition()) return true;
  const auto began = std::chrono::steady_clock::now();
  bool holds = false;
  std::unique_ptr<Subscription> look;
  const std::function<void()> check = [&] {
    holds = condition();
    const auto waited = std::chrono::steady_clock::now() - began;
    if (holds || (waited > limit && waited > patience(limit))) return loop.stop();
    look = loop.after(std::chrono::milliseconds(1), check);
  };
  look = loop.after(std::chrono::milliseconds(1), check);
  loop.run();
  return holds;
}

}  // namespace train::testing
