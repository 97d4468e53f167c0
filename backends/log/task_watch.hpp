// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "backends/posix/descriptor.hpp"

namespace train {

/// Waits for what the launcher of a task, another process, does: it writes into logs, or lets go of
/// its lock when it has recorded the end of the task (or dies). The kernel tells of these
/// (inotify). Where it cannot (no watches left, files that another machine writes), the wait ends
/// after a while by itself, a little later each time.
class TaskWatch {
 public:
  /// A descriptor that the wait also looks at.
  struct Other {
    int fd = -1;
    bool to_read = true;  ///< else only whether it has nobody at its other end
  };

  /// How long whoever follows a task waits at most, without any event, before it looks again.
  static constexpr std::chrono::milliseconds longest_silence{2'000};

  /// `log_directory` may be empty: nothing of the logs is waited for.
  TaskWatch(const std::string& lock_file, const std::string& log_directory);

  /// Waits until something happened since the last wait, `other` can be read or has nobody at its
  /// other end, or `limit` has passed. May return without a reason. True for `other`.
  bool wait(std::chrono::milliseconds limit, Other other);

 private:
  void forget_events();

  Descriptor events_;
  bool gets_events_ = false;  ///< inotify tells of all that is waited for, on this machine
  std::chrono::milliseconds pause_;
  std::chrono::steady_clock::time_point told_;  ///< of the last event
};

}  // namespace train
