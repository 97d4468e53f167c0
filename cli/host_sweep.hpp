// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/event_loop/loop.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "launcher/ports/transport.hpp"
#include "launcher/wire/sweep_report.hpp"

namespace train {

/// A host where the agent `key` may have been killed.
struct AbandonedHost {
  Host host;
  std::string key;
};

/// Asks all of these hosts at the same time, over new connections, to end what a dead agent has
/// left there (`AgentCall::Verb::sweep`). Runs the loop until all have answered, `limit` at most;
/// the answers are in the order of the hosts. An error is of class `host`: the host cannot be
/// reached, or does not answer in time.
std::vector<Result<SweepReport>> sweep_hosts(Loop& loop, Transport& transport,
                                             const std::vector<AbandonedHost>& hosts,
                                             nanoseconds limit);

/// The answers as lines for the user, what needs no word left out.
TerminalText describe_sweep(const std::vector<AbandonedHost>& hosts,
                            const std::vector<Result<SweepReport>>& answers);

}  // namespace train
