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

/// Limits how many logins run at the same time: in total, and per server, which is the host itself
/// or its jump host and may refuse more. Transports may share one window.
class SetupWindow : public std::enable_shared_from_this<SetupWindow> {
 public:
  static constexpr int default_most = 128;
  static constexpr int default_most_at_a_server = 8;

  SetupWindow(Loop& loop, int most, int most_at_a_server = default_most_at_a_server);

  enum class Turn {
    first,  ///< before all others: for a retry
    last,
  };
  /// Calls `start` from the loop, and never from inside this call, when there is room for another
  /// set-up in total and at its server. Order of arrival, except that a server without room does
  /// not delay the others. `start` returns true when a set-up has begun, which `release` ends;
  /// false when it is no longer wanted.
  void enqueue(const std::string& server, std::function<bool()> start, Turn turn = Turn::last);
  /// A set-up that was started has ended.
  void release(const std::string& server);
  /// The server refuses connections because there are too many: halves its limit from now on.
  void overrun(const std::string& server);
  /// The pause before a retry: longer each time, and randomised, so that hosts do not retry
  /// together.
  nanoseconds pause(int tries);

 private:
  struct Server {
    int most;
    int running = 0;
    std::multimap<std::uint64_t, std::function<bool()>> waiting = {};  ///< by turn
  };

  void start_next();
  void post_start_next();
  void note_readiness(const std::string& name, const Server& server);

  Loop& loop_;
  const int most_;
  const int most_at_a_server_;
  int running_ = 0;
  std::uint64_t last_turn_ = 0;
  std::map<std::string, Server> servers_;
  std::set<std::pair<std::uint64_t, std::string>>
      ready_;  ///< turn and server of the next set-up of each server that has room
  bool is_posted_ = false;
  std::mt19937_64 random_;
};

}  // namespace train
