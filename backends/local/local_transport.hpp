// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/event_loop/loop.hpp"
#include "launcher/ports/transport.hpp"

namespace train {

class Children;

/// Reaches the agent of this machine: starts `PROGRAM agent attach KEY` (or `sweep`) with one end
/// of a socket pair as its standard input and output, in a session of its own (so that Ctrl-C in
/// the terminal reaches only the launcher), in the launcher's working directory and environment. A
/// link is open, at 127.0.0.1, as soon as the process was started; it also reports the addresses at
/// which other hosts may reach this machine. The loop must outlive the transport, and the transport
/// its links.
class LocalTransport final : public Transport {
 public:
  /// `command`, the absolute path of this program and "agent", is executed with the verb, the
  /// agent's key and, for an attach, `attach_options` after it.
  LocalTransport(Loop& loop, std::vector<std::string> command,
                 std::vector<std::string> attach_options = {});
  ~LocalTransport() override;

  std::unique_ptr<HostLink> open(const Host& host, const AgentCall& call,
                                 LinkEvents events) override;

 private:
  Loop& loop_;
  std::vector<std::string> command_;
  std::vector<std::string> attach_options_;
  std::shared_ptr<Children> children_;
};

}  // namespace train
