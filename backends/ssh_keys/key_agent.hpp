// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "backends/ssh_formats/signing_key.hpp"

namespace train {

/// The keys in ssh-agent, in its order.
struct AgentKeys {
  std::vector<std::shared_ptr<SigningKey>> keys;  ///< each signs by asking the agent
  /// Keys of unsupported kinds: "ssh-agent's certificate 'me@there'".
  std::vector<std::string> foreign;
};

/// Lists the keys of the ssh-agent at the unix socket `path`. Blocks for at most `deadline`. A
/// signature, which the user may have to confirm (ssh-add -c), blocks for at most `patience`. An
/// agent that was late once is not asked again. Errors, of class `host`, say why the agent does not
/// answer.
Result<AgentKeys> keys_of_agent(const std::string& path, std::chrono::milliseconds deadline,
                                std::chrono::milliseconds patience);

}  // namespace train
