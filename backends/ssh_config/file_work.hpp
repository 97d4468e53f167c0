// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "backends/event_loop/background.hpp"

namespace train {

/// Reads and writes files on a thread beside the loop, one piece of work after the other. The files
/// may be on a disk or network file system that hangs: callers wait for a piece only up to a
/// timeout.
class FileWork {
 public:
  FileWork(Loop& loop, std::chrono::milliseconds limit)
      : loop_(loop), limit_(limit), thread_(loop) {}
  FileWork(const FileWork&) = delete;
  FileWork& operator=(const FileWork&) = delete;

  /// Runs `work`, which must own what it touches, and then calls `on_done` from the loop, once,
  /// unless this object is destroyed before. `what` names the piece in errors, "reading
  /// ~/.ssh/config". After the timeout, `on_done` gets an error of class `host` that names the
  /// piece that hangs: this one or one before it.
  void run(std::string what, std::function<void()> work, std::function<void(Result<void>)> on_done);

 private:
  struct Piece {
    std::string what;
    std::function<void(Result<void>)> on_done;  ///< empty after the timeout was reported
    std::unique_ptr<Subscription> deadline;
  };
  void on_late(Piece& piece);

  Loop& loop_;
  std::chrono::milliseconds limit_;
  std::list<Piece> pieces_;  ///< those that have not ended, in order
  Background thread_;
};

}  // namespace train
