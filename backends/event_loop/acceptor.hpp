// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/descriptor.hpp"

namespace train {

/// Takes the connections that come to a listening socket, from a loop. Where there is no descriptor
/// left for one, it waits in the socket's queue, which is looked at again every second.
class Acceptor {
 public:
  /// `on_connection` gets a non-blocking, close-on-exec descriptor. `listening_socket` is
  /// non-blocking and stays open as long as this.
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
