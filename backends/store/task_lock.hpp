// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/record/moment.hpp"

namespace train {

/// Shows that a supervisor lives: an exclusive lock on a file, of its open file description
/// (fcntl(2), F_OFD_SETLK), which other processes can probe without taking it. The kernel drops the
/// lock when the process ends, however it ends, so the lock is never stale and no process id is
/// needed.
class TaskLock {
 public:
  /// Creates `path`, which must not exist, and locks it. Programs that this process executes do not
  /// inherit the lock.
  static Result<TaskLock> create(const std::string& path);
  /// Locks `path`, which a supervisor that has ended created. Class `busy` when another process
  /// holds the lock, `no_input` when the file is gone or its file system has no locks.
  static Result<TaskLock> adopt(const std::string& path);

  /// Notes in the file that its owner lives at this moment (`last_noted`).
  void touch();
  /// Writes a new signature into the file. This displaces an earlier owner also where locks do not
  /// exclude each other, as on some network file systems: `is_owner` is then false for the earlier
  /// owner.
  void sign();
  /// False once another process has signed the file at this path, or replaced it. True when the
  /// file is gone.
  bool is_owner() const;

 private:
  TaskLock(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  Descriptor file_;  ///< closing it releases the lock; the file stays
  std::string path_;
  std::string signature_ = {};  ///< of this owner, as written in the file
};

enum class TaskLockState {
  alive,    ///< a process holds the lock
  gone,     ///< no process holds the lock, or the file is gone
  unknown,  ///< the lock cannot be queried
};

/// Looks for a living supervisor, without waiting.
TaskLockState probe_task_lock(const std::string& path);

/// When the owner of the lock at `path` last noted that it lived. Only the time of day is known
/// where there was no room for the second line; it is 0 where there is no file.
Moment last_noted(const std::string& path);
/// The current moment of this machine.
Moment this_moment();

}  // namespace train
