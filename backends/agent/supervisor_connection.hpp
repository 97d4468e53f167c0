// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/descriptor.hpp"
#include "launcher/frames/frame.hpp"

namespace train {

/// The agent's end of the supervisor's stream: frames in, bytes out; neither ever blocks. Callbacks
/// are called from the loop, never from inside `send`; they must not destroy the connection.
class SupervisorConnection {
 public:
  struct Events {
    /// Returns false for a frame that no supervisor sends: then the connection is closed.
    std::function<bool(const Frame&)> on_frame;
    /// The connection has ended, is broken, or does not speak the protocol. Called once, last.
    std::function<void()> on_closed;
  };

  SupervisorConnection(Loop& loop, Descriptor socket, Events events);

  /// Writes what the socket takes now and the rest later. Bytes sent after the end are dropped.
  void send(std::string bytes);
  bool has_unsent() const { return !unsent_.empty(); }
  int socket() const { return socket_.get(); }

 private:
  void read();
  void write();
  void forget_unsent();
  void close();

  Loop& loop_;
  Descriptor socket_;
  Events events_;
  FrameDecoder decoder_{FrameSender::launcher};
  std::deque<std::string> unsent_;
  std::size_t front_offset_ = 0;
  std::unique_ptr<Subscription> readable_;
  std::unique_ptr<Subscription> writable_;
  bool can_send_ = true;
};

}  // namespace train
