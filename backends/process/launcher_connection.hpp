// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "backends/event_loop/loop.hpp"
#include "backends/process/descriptor.hpp"
#include "launcher/wire/frame.hpp"

namespace train {

/// The agent's end of the launcher's stream: frames in, bytes out, neither ever blocking. Callbacks
/// come from the loop, never from inside `send`.
class LauncherConnection {
 public:
  struct Events {
    std::function<void(const Frame&)> on_frame;
    std::function<void()> on_closed;  ///< ended, broken, or not speaking the protocol; comes once
  };

  LauncherConnection(Loop& loop, Descriptor socket, Events events);

  void send(std::string bytes);
  /// Nothing is waiting to be written.
  bool drained() const { return unsent_.empty(); }

 private:
  void read();
  void write();
  void close();

  Loop& loop_;
  Descriptor socket_;
  Events events_;
  FrameDecoder decoder_;
  std::deque<std::string> unsent_;
  std::size_t front_offset_ = 0;
  std::unique_ptr<Subscription> readable_;
  std::unique_ptr<Subscription> writable_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace train
