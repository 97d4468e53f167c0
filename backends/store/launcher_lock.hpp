// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// The mark of a living launcher: an exclusive lock on a file, of its open description (fcntl(2),
/// F_OFD_SETLK), at which others can look without taking it. The kernel drops it when the process
/// ends, however it ends, so the mark is never stale and no process id is guessed at.
class LauncherLock {
 public:
  /// Creates `path`, which must not exist, and locks it. Programs that this process executes do not
  /// inherit the lock.
  static Result<LauncherLock> create(const std::string& path);
  /// Locks `path`, which a launcher has created that lives no more. Class `busy` when somebody
  /// holds the lock, `no_input` when the file is gone or its file system has no locks.
  static Result<LauncherLock> adopt(const std::string& path);

  /// Sets the time of the last change of the file to now.
  void touch();

 private:
  explicit LauncherLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;  ///< closing it releases the lock; the file stays
};

enum class LauncherSign {
  alive,    ///< somebody holds the lock
  gone,     ///< nobody does, or the file is gone
  unknown,  ///< the file system does not say
};

/// Looks for a living launcher, without waiting.
LauncherSign probe_launcher(const std::string& path);

}  // namespace train
