// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "backends/event_loop/loop.hpp"
#include "tests/support/waiting.hpp"

namespace train::testing {

/// Runs the loop until the condition holds, looked at each millisecond; false when it does not
/// within the limit, which is for an idle machine (`eventually`). What else stops the loop
/// meanwhile, as the callback of a probe does, has the condition looked at and does not end the
/// wait.
inline bool loop_until(Loop& loop, const std::function<bool()>& condition,
                       std::chrono::milliseconds limit = std::chrono::seconds(10)) {
  if (condition()) return true;
  const auto began = std::chrono::steady_clock::now();
  bool holds = false;
  bool is_over = false;
  std::unique_ptr<Subscription> look;
  const std::function<void()> check = [&] {
    holds = condition();
    const auto waited = std::chrono::steady_clock::now() - began;
    is_over = holds || (waited > limit && waited > patience(limit));
    if (is_over) return loop.stop();
    look = loop.after(std::chrono::milliseconds(1), check);
  };
  look = loop.after(std::chrono::milliseconds(1), check);
  while (!is_over) {
    loop.run();
    if (!is_over) is_over = holds = condition();
  }
  return holds;
}

/// Runs the loop until a callback stops it; false when none does within the limit, which is for an
/// idle machine.
inline bool run_until_stopped(Loop& loop,
                              std::chrono::milliseconds limit = std::chrono::seconds(10)) {
  const auto began = std::chrono::steady_clock::now();
  bool is_late = false;
  std::unique_ptr<Subscription> look;
  const std::function<void()> check = [&] {
    is_late = std::chrono::steady_clock::now() - began > patience(limit);
    if (is_late) return loop.stop();
    look = loop.after(limit, check);
  };
  look = loop.after(limit, check);
  loop.run();
  return !is_late;
}

/// Runs the loop for so long, whoever stops it meanwhile: for what must not happen.
inline void run_for(Loop& loop, std::chrono::milliseconds duration) {
  bool is_over = false;
  const auto end = loop.after(duration, [&] {
    is_over = true;
    loop.stop();
  });
  while (!is_over) loop.run();
}

}  // namespace train::testing
