// SPDX-License-Identifier: Apache-2.0
#include "examples/nccl_allreduce/watchdog.hpp"

#include <utility>

namespace nccl_allreduce {

Watchdog::Watchdog(std::function<void(const std::string& step)> on_late)
    : on_late_(std::move(on_late)), thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Watchdog::begin(std::string step, std::chrono::milliseconds limit) {
  {
    const std::lock_guard lock(mutex_);
    step_ = std::move(step);
    deadline_ = std::chrono::steady_clock::now() + limit;
  }
  changed_.notify_one();
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    if (!deadline_) {
      changed_.wait(lock);
    } else if (std::chrono::steady_clock::now() < *deadline_) {
      changed_.wait_until(lock, std::chrono::steady_clock::time_point(*deadline_));
    } else {
      on_late_(step_);
      return;
    }
  }
}

}  // namespace nccl_allreduce
