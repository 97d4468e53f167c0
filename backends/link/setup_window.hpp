// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "backends/event_loop/loop.hpp"

namespace train {

/// How many hosts are being logged in to at the same time: in all, and on one way, such as an
/// address or a jump host, whose server may refuse more. Transports may share one.
class SetupWindow : public std::enable_shared_from_this<SetupWindow> {
 public:
  static constexpr int default_most = 128;
  static constexpr int default_most_on_a_way = 8;

  SetupWindow(Loop& loop, int most, int most_on_a_way = default_most_on_a_way);

  enum class Turn {
    first,  ///< before all others: it had its turn already
    last,
  };
  /// Calls `start` once there is room for another set-up, in all and on its way, from the loop and
  /// never from inside this call: in order of arrival, but for those whose way has no room. It
  /// returns whether a set-up is under way now, which a `release` then ends; false when nobody
  /// wants it any more.
  void enqueue(const std::string& way, std::function<bool()> start, Turn turn = Turn::last);
  /// A set-up that was started is over.
  void release(const std::string& way);
  /// The server at the end of the way refuses connections because there are too many: from now on
  /// it gets half as many at a time.
  void overrun(const std::string& way);
  /// The pause before another try: longer each time, and never the same for two hosts.
  nanoseconds pause(int tries);

 private:
  struct Way {
    int most;
    int under_way = 0;
    std::multimap<std::uint64_t, std::function<bool()>> waiting = {};  ///< by turn
  };

  void start_next();
  void post_start_next();
  void note_readiness(const std::string& name, const Way& way);

  Loop& loop_;
  const int most_;
  const int most_on_a_way_;
  int under_way_ = 0;
  std::uint64_t last_turn_ = 0;
  std::map<std::string, Way> ways_;
  std::set<std::pair<std::uint64_t, std::string>>
      ready_;  ///< whose turn it is, with room on its way
  bool is_posted_ = false;
  std::mt19937_64 random_;
};

}  // namespace train
