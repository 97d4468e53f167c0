// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace nccl_allreduce {

/// Knows how long a step may take, whichever call it hangs in: CUDA and NCCL wait for a lost peer
/// or a broken driver without end, and cannot be interrupted from within.
class Watchdog {
 public:
  /// `on_late` is called once, from another thread, with the step that has taken too long; in the
  /// program it says so and ends the process.
  explicit Watchdog(std::function<void(const std::string& step)> on_late);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// From now on this step runs, in place of the one before.
  void begin(std::string step, std::chrono::milliseconds limit);

 private:
  void watch();

  std::function<void(const std::string&)> on_late_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string step_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  bool is_over_ = false;
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace nccl_allreduce
