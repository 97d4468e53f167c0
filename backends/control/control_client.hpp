// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "backends/posix/descriptor.hpp"
#include "launcher/control/control_talk.hpp"

namespace train {

/// A conversation with the supervisor of a task. Blocks, within limits.
class ControlClient {
 public:
  /// Connects to the socket at `path` and hears the greeting. None where nobody listens, or the
  /// connection ends before a greeting, as when the supervisor dies; errors are of class `busy`
  /// when nothing comes within `limit`, as for a supervisor that was stopped (SIGSTOP), and
  /// `no_input` or `host` for a socket that is not one of ours.
  static Result<std::optional<ControlClient>> connect(const std::string& path,
                                                      std::chrono::milliseconds limit);

  const ControlGreeting& greeting() const { return greeting_; }
  /// Asks, and waits for the answer. None when the connection ends before it. Errors as above.
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
