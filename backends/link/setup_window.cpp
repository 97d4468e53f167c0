// SPDX-License-Identifier: Apache-2.0
#include "backends/link/setup_window.hpp"

#include <sys/random.h>

#include <algorithm>
#include <utility>

namespace train {

namespace {

// std::random_device would ask for glibc 2.36 on every host.
std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  while (::getrandom(&seed, sizeof seed, 0) != sizeof seed) continue;  // interrupted by a signal
  return seed;
}

}  // namespace

SetupWindow::SetupWindow(Loop& loop, int most)
    : loop_(loop), most_(std::max(most, 1)), random_(random_seed()) {}

void SetupWindow::enqueue(std::function<bool()> start) {
  waiting_.push_back(std::move(start));
  post_start_next();
}

void SetupWindow::release() {
  --under_way_;
  if (!waiting_.empty()) post_start_next();
}

void SetupWindow::post_start_next() {
  loop_.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->start_next();
  });
}

void SetupWindow::start_next() {
  while (under_way_ < most_ && !waiting_.empty()) {
    const auto start = std::move(waiting_.front());
    waiting_.pop_front();
    // Counted before it starts: it may be over, and released, when it returns.
    ++under_way_;
    if (!start()) --under_way_;
  }
}

nanoseconds SetupWindow::pause(int tries) {
  const double step = 0.1 * static_cast<double>(1 << std::clamp(tries - 1, 0, 4));
  const double seconds = step * std::uniform_real_distribution<>(0.5, 1.5)(random_);
  return std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(seconds));
}

}  // namespace train
