// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/event_loop/loop.hpp"
#include "launcher/ports/transport.hpp"

namespace train {

class ChildReaper;

/// Reaches the agent of this machine: starts `PROGRAM agent attach KEY` with one end of a socket
/// pair as its standard input and output, in a session of its own (a Ctrl-C of the terminal is for
/// the launcher), in the launcher's working directory and environment. A link is open as soon as
/// that process was started, at 127.0.0.1; what others may reach this machine by comes with it. The
/// loop must outlive the transport, and the transport its links.
class LocalTransport final : public Transport {
 public:
  /// `command` is executed with the agent's key as its last argument: the absolute path of this
  /// program, "agent", "attach".
  LocalTransport(Loop& loop, std::vector<std::string> command);
  ~LocalTransport() override;

  std::unique_ptr<HostLink> open(const Host& host, const std::string& agent_key,
                                 LinkEvents events) override;

 private:
  Loop& loop_;
  std::vector<std::string> command_;
  std::shared_ptr<ChildReaper> reaper_;
};

}  // namespace train
