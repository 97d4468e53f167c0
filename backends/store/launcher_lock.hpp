// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/record/moment.hpp"

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

  /// Notes in the file that its owner lives now (`last_noted`).
  void touch();
  /// Takes the path for this process also where the lock lies, as those of network file systems
  /// may: to whoever has had it before it is not theirs any more.
  void sign();
  /// False once another lock was signed at this path. A file that is gone is nobody else's.
  bool is_ours() const;

 private:
  LauncherLock(Descriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  Descriptor file_;  ///< closing it releases the lock; the file stays
  std::string path_;
  std::string signature_ = {};  ///< in the file
};

enum class LauncherSign {
  alive,    ///< somebody holds the lock
  gone,     ///< nobody does, or the file is gone
  unknown,  ///< the file system does not say
};

/// Looks for a living launcher, without waiting.
LauncherSign probe_launcher(const std::string& path);

/// When the owner of the lock at `path` last noted that it lived. By the time of day alone where an
/// earlier train has written the file, or there was no room for more; 0 where there is none.
Moment last_noted(const std::string& path);
/// This machine's, now.
Moment this_moment();

}  // namespace train
