// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <vector>

#include "backends/event_loop/loop.hpp"

namespace train {

/// The signals that stop a launch; in a job of Slurm SIGUSR1 is one, by which its script is warned
/// before the limit of its time (`sbatch --signal=B:USR1@60`). They are blocked from construction
/// on, so that none ends the program after a task is recorded and before its end can be recorded.
/// Construct it in the main thread, before other threads are started.
class StopSignals {
 public:
  StopSignals();
  /// Signals that arrived meanwhile take their default effect now.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Calls back from the loop with the number of each signal, including those that arrived before.
  void deliver(Loop& loop, const std::function<void(int)>& callback);
  /// Blocks the signals again, as after construction: those that arrive wait for the next
  /// `deliver`.
  void hold_back();
  /// Ignores SIGHUP from now on: this process has left its terminal.
  void ignore_hangup();
  /// Restores the default effect of the signals.
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
