// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace train::testing {

/// A process below this one as a debugger has it, so that it does at a moment of the test's choice
/// what it does by itself only when its host is in trouble. Goes on when this object goes.
class TracedProcess {
 public:
  explicit TracedProcess(int pid);
  ~TracedProcess();
  TracedProcess(const TracedProcess&) = delete;
  TracedProcess& operator=(const TracedProcess&) = delete;

  /// False where none may be traced, or where this program does not know the processor.
  bool is_there() const { return is_there_; }
  /// It calls exit_group(2). Once.
  void exit(int code);
  /// Its main thread does nothing any more, whatever it is told, and it does not end when it is
  /// killed, as one that the kernel holds.
  void hold() const;

 private:
  void release();
  bool stop_main_thread() const;

  int pid_;
  std::vector<int> threads_;
  bool is_there_ = false;
};

}  // namespace train::testing
