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
/// thread. So work must own everything that it uses (captured by value or by shared_ptr).
class Background {
 public:
  /// `stays`: an idle thread stays, so that work can be done even when no more threads can be
  /// started. `goes`: it ends after two seconds, and the next piece starts it again.
  enum class Idle { stays, goes };

  explicit Background(Loop& loop, Idle idle = Idle::stays);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Runs `work` on the thread, then `done` from the loop, unless this object is gone by then. An
  /// exception of `work` is rethrown from the loop instead of calling `done`. An error, of class
  /// `host`, when no thread can be started (the user's limit of processes): then nothing runs.
  Result<void> run(std::function<void()> work, std::function<void()> done);

  /// How long the current piece has been running, in the loop's time; `nullopt` when none runs.
  std::optional<nanoseconds> busy_for() const;

 private:
  struct State;
  Loop& loop_;
  std::shared_ptr<State> state_;
};

}  // namespace train
