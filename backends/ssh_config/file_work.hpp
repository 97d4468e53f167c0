// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "backends/event_loop/background.hpp"

namespace train {

/// Reads and writes files that may be on a disk, or in a home on the network, that hangs: one piece
/// of work after the other, beside the loop. Nobody waits longer than a limit for a piece.
class FileWork {
 public:
  FileWork(Loop& loop, std::chrono::milliseconds limit)
      : loop_(loop), limit_(limit), thread_(loop) {}
  FileWork(const FileWork&) = delete;
  FileWork& operator=(const FileWork&) = delete;

  /// Runs `work`, which must own what it touches, and then `on_done` from the loop, once, unless
  /// this object is gone by then. `what` is the name of the piece, "reading ~/.ssh/config". The
  /// error, of class `host`, names the piece that takes longer than the limit, this one or one
  /// before it.
  void run(std::string what, std::function<void()> work, std::function<void(Result<void>)> on_done);

 private:
  struct Piece {
    std::string what;
    std::function<void(Result<void>)> on_done;  ///< empty once the owner heard that it is late
    std::unique_ptr<Subscription> deadline;
  };
  void on_late(Piece& piece);

  Loop& loop_;
  std::chrono::milliseconds limit_;
  std::list<Piece> pieces_;  ///< those that have not ended, in order
  Background thread_;
};

}  // namespace train
