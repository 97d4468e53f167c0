// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/process/agent_means.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// The host's side of `AgentCall::Verb::wait` (launcher/talks/wait_talk.hpp): makes the ticket that
/// the launcher sends, reports holders and waiting tasks each time they change, and accepts a new
/// order. Returns, and removes the ticket, once the input ends, the launcher has sent nothing for
/// `wait_silence`, or a termination signal comes. `key`: the agent's. Of `means` it uses those of
/// `inspect_host`. Class `host` if the ticket cannot be made or kept.
Result<void> wait_in_line(const std::string& key, const AgentMeans& means, int input, int output);

}  // namespace train
