// SPDX-License-Identifier: Apache-2.0
#include "backends/event_loop/limited_work.hpp"

#include <utility>

namespace train {

void LimitedWork::run(std::function<void()> work, nanoseconds limit,
                      std::function<void(bool)> done) {
  const int number = next_++;
  Piece& piece = pieces_[number];
  piece.done = std::move(done);
  const bool is_dropped = late_ > 0 && behind_late_ == BehindLate::is_dropped;
  const bool is_begun =
      !is_dropped && background_.run(std::move(work), [this, number] { came_back(number); });
  piece.limit = loop_.after(is_begun ? limit : nanoseconds(0), [this, number, is_begun] {
    if (is_begun) ++late_;
    answer(number, false);
  });
}

void LimitedWork::came_back(int number) {
  if (pieces_.contains(number)) return answer(number, true);
  --late_;
}

// Uses nothing of this object once it has called back, which may destroy it.
void LimitedWork::answer(int number, bool is_done) {
  auto piece = pieces_.extract(number);
  piece.mapped().done(is_done);
}

}  // namespace train
