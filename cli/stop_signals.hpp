// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <vector>

#include "backends/event_loop/loop.hpp"

namespace train {

/// The signals that ask a launch to end: SIGTERM, and of SIGINT and SIGHUP those that were not
/// ignored when the program began (nohup, a background job of a script).
///
/// They are held back from the beginning, so that none ends the program where a task was recorded
/// and nobody would record its end. For the main thread, before others are started.
class StopSignals {
 public:
  StopSignals();
  /// What was held back has its default effect now.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Calls back from the loop with the number of each that came since the beginning, and of each
  /// that comes.
  void deliver(Loop& loop, const std::function<void(int)>& callback);
  /// They have their default effect from now on.
  void end();

 private:
  void let_through();

  std::vector<int> numbers_;
  std::vector<std::unique_ptr<Subscription>> subscriptions_;
  sigset_t mask_before_;
  bool held_back_ = true;
};

}  // namespace train
