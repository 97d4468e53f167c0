// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "backends/ssh_formats/signing_key.hpp"

namespace train {

/// What ssh-agent holds, in its order.
struct AgentKeys {
  std::vector<std::shared_ptr<SigningKey>> keys;  ///< each signs by asking the agent
  /// Those of a kind that is not supported here: "ssh-agent's certificate 'me@there'".
  std::vector<std::string> foreign;
};

/// The keys that ssh-agent holds behind the unix socket `path`. Asking blocks, but never longer
/// than `deadline`, and for a signature, which a person may have to allow (ssh-add -c), never
/// longer than `patience`; an agent that was late once is not asked again. Errors, of class `host`,
/// say why the agent does not answer.
Result<AgentKeys> keys_of_agent(const std::string& path, std::chrono::milliseconds deadline,
                                std::chrono::milliseconds patience);

}  // namespace train
