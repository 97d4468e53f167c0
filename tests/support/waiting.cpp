// SPDX-License-Identifier: Apache-2.0
#include "tests/support/waiting.hpp"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

namespace train::testing {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto idle_time = 20ms;  // of `computation`, on an idle core
std::atomic<double> slowest = 1;

// No fork, whose child a test that counts its children would see. Long enough that others get their
// turn meanwhile.
uint64_t computation() {
  volatile uint64_t state = 1;
  for (int i = 0; i < 18'000'000; ++i) state = state * 6364136223846793005U + 1442695040888963407U;
  return state;
}

}  // namespace

double pace() {
  const auto began = Clock::now();
  (void)computation();
  const std::chrono::duration<double> took = Clock::now() - began;
  const double now = std::clamp(took / idle_time, 1.0, 10.0);
  if (now > slowest) slowest = now;
  return slowest;
}

std::chrono::milliseconds patience(std::chrono::milliseconds limit) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(limit * pace());
}

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  const auto began = Clock::now();
  while (!condition()) {
    const auto waited = Clock::now() - began;
    if (waited > limit * slowest.load() && waited > limit * pace()) return condition();
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

bool becomes_readable(int fd, std::chrono::milliseconds limit) {
  return eventually(
      [fd] {
        pollfd polled{fd, POLLIN, 0};
        return ::poll(&polled, 1, 100) > 0;
      },
      limit);
}

bool stays(const std::function<bool()>& condition, std::chrono::milliseconds duration) {
  const auto until = Clock::now() + duration;
  while (condition()) {
    if (Clock::now() >= until) return true;
    std::this_thread::sleep_for(2ms);
  }
  return false;
}

}  // namespace train::testing
