// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <vector>

#include "backends/event_loop/loop.hpp"

namespace train {

/// They are blocked from the beginning on, so that none ends the program between recording a task
/// and being able to record its end. Make it in the main thread, before others are started.
class StopSignals {
 public:
  StopSignals();
  /// The signals that came meanwhile have their default effect now.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Calls back from the loop with the number of each signal, also of those that came before.
  void deliver(Loop& loop, const std::function<void(int)>& callback);
  /// They are blocked again, as in the beginning: those that come wait for the next `deliver`.
  void hold_back();
  /// SIGHUP is ignored from now on: this process has no terminal any more that could hang up.
  void ignore_hangup();
  /// They have their default effect from now on.
  void end();

 private:
  void block();
  void let_through();

  std::vector<int> numbers_;
  std::vector<std::unique_ptr<Subscription>> subscriptions_;
  sigset_t mask_before_;
  bool held_back_ = false;
};

}  // namespace train
