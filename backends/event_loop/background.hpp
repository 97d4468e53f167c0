// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "backends/event_loop/loop.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// One thread beside the loop, for calls that may block for long on a disk, a network file system
/// or a name server. Pieces of work run one after the other, in the order in which they were given;
/// their results are delivered through the loop. The thread starts with the first piece and takes
/// no signals.
///
/// Destroying it never waits: work that has not begun is dropped, and work that hangs ends with its
/// thread. So work must own all that it touches (capture by value, or by shared_ptr).
class Background {
 public:
  /// A thread with nothing to do stays, so that work can be done also where no more threads can be
  /// started; or it goes after a moment, and comes again with the next piece.
  enum class Idle { stays, goes };

  explicit Background(Loop& loop, Idle idle = Idle::stays);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Runs `work` on the thread, then `done` from the loop, unless this object is gone by then. What
  /// `work` throws is thrown from the loop instead of calling `done`. An error, of class `host`,
  /// when no thread can be started (the user's limit of processes): then nothing runs.
  Result<void> run(std::function<void()> work, std::function<void()> done);

  /// For how long the piece that runs now has run, as of the loop's time; nothing when none does.
  std::optional<nanoseconds> busy_for() const;

 private:
  struct State;
  Loop& loop_;
  std::shared_ptr<State> state_;
};

}  // namespace train
