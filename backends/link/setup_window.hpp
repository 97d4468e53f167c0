// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <random>

#include "backends/event_loop/loop.hpp"

namespace train {

/// How many hosts are being logged in to at the same time. Transports may share one.
class SetupWindow : public std::enable_shared_from_this<SetupWindow> {
 public:
  SetupWindow(Loop& loop, int most);

  /// Calls `start` once fewer than `most` set-ups are under way, from the loop and never from
  /// inside this call. It returns whether one is under way now, which a `release` then ends; false
  /// when nobody wants it any more.
  void enqueue(std::function<bool()> start);
  /// A set-up that was started is over.
  void release();
  /// The pause before another try: longer each time, and never the same for two hosts.
  nanoseconds pause(int tries);

 private:
  void start_next();
  void post_start_next();

  Loop& loop_;
  const int most_;
  int under_way_ = 0;
  std::deque<std::function<bool()>> waiting_;
  std::mt19937_64 random_;
};

}  // namespace train
