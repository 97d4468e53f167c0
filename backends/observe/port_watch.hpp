// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "backends/event_loop/background.hpp"
#include "backends/observe/port_listeners.hpp"

namespace train {

/// Checks which user listens on ports of this host that are held for ranks (`PortHold::share`):
/// often at first, then every half minute; each port until a listener of this user or of another
/// user is found on it. The checks run beside the loop.
class PortWatch {
 public:
  using OnTaken = std::function<void(const PortListener& other)>;

  /// `on_taken` is called from the loop, once for each port on which another user listens.
  PortWatch(Loop& loop, std::set<std::uint16_t> ports, OnTaken on_taken);

  /// Checks now as well, and then calls `done` from the loop; also if no check is needed any more,
  /// or none is possible.
  void look(std::function<void()> done);

 private:
  /// What one look has found.
  struct Found {
    std::set<std::uint16_t> ours;
    std::vector<PortListener> others;
  };
  static Found look_at(const std::set<std::uint16_t>& ports);
  void begin();
  void looked(const Found& found, const std::vector<std::function<void()>>& waiting);
  void look_later();

  Loop& loop_;
  std::set<std::uint16_t> open_;  ///< ports on which no listener was seen yet
  OnTaken on_taken_;
  nanoseconds pause_;
  bool is_looking_ = false;
  std::vector<std::function<void()>> waiting_;  ///< for the next look
  std::unique_ptr<Subscription> timer_;
  Background background_;
};

}  // namespace train
