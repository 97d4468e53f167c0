// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/process/agent_means.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// The host's side of `AgentCall::Verb::wait` (launcher/talks/wait_talk.hpp): makes the ticket that
/// the launcher sends, tells what is held here and who waits as often as that changes, and takes a
/// new order. Returns once the input ends, the launcher has said nothing for `wait_silence`, or a
/// signal asks for the end, and the ticket is gone then. `key`: the agent's. Of the means it takes
/// those of `look_at_this_host`. Class `host` where no ticket can be made or kept.
Result<void> wait_in_line(const std::string& key, const AgentMeans& means, int input, int output);

}  // namespace train
