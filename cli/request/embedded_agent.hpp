// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/link/agent_binary.hpp"

namespace train {

/// The agent's program, which is embedded in this binary (embed_agent.cmake).
AgentBinary embedded_agent();

}  // namespace train
