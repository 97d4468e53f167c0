// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "backends/event_loop/background.hpp"

namespace train {

/// Pieces of work on a thread beside the loop, as in `Background`, each of which is waited for only
/// so long.
class LimitedWork {
 public:
  /// What becomes of a piece while one before it, which is not waited for any longer, has not come
  /// back: it stands behind that and has its whole limit; or it is never begun.
  enum class BehindLate { waits, is_dropped };

  LimitedWork(Loop& loop, Background::Idle idle, BehindLate behind_late)
      : loop_(loop), behind_late_(behind_late), background_(loop, idle) {}

  /// Runs `work`, and calls `done` from the loop, once; `is_done`: the work was done in time. Where
  /// it cannot be begun, that comes at once. Destroying this, which `done` may do, drops what is
  /// left.
  void run(std::function<void()> work, nanoseconds limit, std::function<void(bool is_done)> done);

 private:
  struct Piece {
    std::function<void(bool)> done;
    std::unique_ptr<Subscription> limit;
  };
  void came_back(int number);
  void answer(int number, bool is_done);

  Loop& loop_;
  BehindLate behind_late_;
  std::map<int, Piece> pieces_;
  int next_ = 0;
  int late_ = 0;  ///< pieces that are not waited for any longer and have not come back
  Background background_;
};

}  // namespace train
