// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "backends/posix/descriptor.hpp"
#include "launcher/control/control_talk.hpp"

namespace train {

/// A connection to the supervisor of a task. Calls block, up to their timeout.
class ControlClient {
 public:
  /// Connects to the socket at `path` and reads the greeting. Nothing when no process listens
  /// there, or the connection ends before a greeting, as when the supervisor dies. Errors are of
  /// class `busy` when no greeting comes within `limit`, as from a supervisor that was stopped
  /// (SIGSTOP), and `no_input` or `host` when the socket is not one of a train of this user.
  static Result<std::optional<ControlClient>> connect(const std::string& path,
                                                      std::chrono::milliseconds limit);

  const ControlGreeting& greeting() const { return greeting_; }
  /// Sends the request, and waits for the answer. Nothing when the connection ends before the
  /// answer. Errors as above.
  Result<std::optional<ControlAnswer>> ask(const ControlRequest& request,
                                           std::chrono::milliseconds limit);

 private:
  explicit ControlClient(Descriptor socket) : socket_(std::move(socket)) {}
  Result<std::optional<std::string>> read_line(std::chrono::milliseconds limit);

  Descriptor socket_;
  ControlGreeting greeting_;
  std::string heard_;
};

}  // namespace train
