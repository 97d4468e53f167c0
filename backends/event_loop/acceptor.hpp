// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/descriptor.hpp"

namespace train {

/// Accepts the connections of a listening socket, from a loop. If no descriptor is left for one, it
/// waits in the socket's queue, and accepting is tried again every second.
class Acceptor {
 public:
  /// `on_connection` gets a non-blocking, close-on-exec descriptor. `listening_socket` must be
  /// non-blocking and stay open for as long as this exists.
  Acceptor(Loop& loop, int listening_socket, std::function<void(Descriptor)> on_connection);
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  /// Leaves connections in the socket's queue until `go_on`; `on_connection` may call it.
  void pause();
  void go_on();

 private:
  void await();
  void accept();

  Loop& loop_;
  const int listening_;
  std::function<void(Descriptor)> on_connection_;
  std::unique_ptr<Subscription> readable_;
  std::unique_ptr<Subscription> retry_;
};

}  // namespace train
