// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// The mark of a living launcher: an exclusive flock on a file. The kernel drops it when the
/// process ends, however it ends, so the mark is never stale and no process id is guessed at.
class LauncherLock {
 public:
  /// Creates `path`, which must not exist, and locks it. Programs that this process executes do not
  /// inherit the lock.
  static Result<LauncherLock> create(const std::string& path);

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
