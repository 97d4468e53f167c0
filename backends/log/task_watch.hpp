// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "backends/posix/descriptor.hpp"

namespace train {

/// Waits for changes by the launcher of a task, another process: it writes into logs, or releases
/// its lock when it has recorded the end of the task (or dies). The kernel reports both (inotify).
/// Where it cannot (no watches left, files that another machine writes), the wait ends by itself
/// after a while, a little later each time.
class TaskWatch {
 public:
  /// Another descriptor to wait for.
  struct Other {
    int fd = -1;
    bool to_read = true;  ///< else wait only until its other end is closed
  };

  /// How long a caller that follows a task waits at most, without any event, before it checks
  /// again.
  static constexpr std::chrono::milliseconds longest_silence{2'000};

  /// `log_directory` may be empty: then only the lock is watched.
  TaskWatch(const std::string& lock_file, const std::string& log_directory);

  /// Waits until something has happened since the last wait, `other` is readable or its other end
  /// is closed, or `limit` has passed. May return early. True when `other` has an event.
  bool wait(std::chrono::milliseconds limit, Other other);

 private:
  void forget_events();

  Descriptor events_;
  bool gets_events_ = false;  ///< inotify reports all changes that are made on this machine
  std::chrono::milliseconds pause_;
  std::chrono::steady_clock::time_point told_;  ///< when the last event was reported
};

}  // namespace train
