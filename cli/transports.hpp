// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backends/event_loop/loop.hpp"
#include "launcher/plan.hpp"
#include "launcher/ports/transport.hpp"

namespace train {

/// Reaches each host the way its `transport` says: this machine by a child process, all others by
/// SSH.
class HostTransports final : public Transport {
 public:
  /// For the hosts of this trial; the SSH side is only made when one of them needs it. Ranks of
  /// this machine get the soft limit of descriptors that is given, this process's if none is.
  /// `say` tells the user something in one line, from the loop. Errors are those of
  /// `default_ssh_options`.
  static Result<std::unique_ptr<HostTransports>> make(Loop& loop, const Trial& trial,
                                                      std::optional<rlim_t> open_files,
                                                      std::function<void(const std::string&)> say);

  std::unique_ptr<HostLink> open(const Host& host, const std::string& agent_key,
                                 LinkEvents events) override;

 private:
  std::unique_ptr<Transport> local_;
  std::unique_ptr<Transport> ssh_;
};

}  // namespace train
