// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "backends/ssh/signing_key.hpp"

namespace train {

/// The keys that ssh-agent holds behind the unix socket `path`, in its order, without those of a
/// kind that is not supported. Each signs by asking the agent. Asking blocks, but never longer than
/// `deadline`; an agent that was late once is not asked again. Errors, of class `host`, say why the
/// agent does not answer.
Result<std::vector<std::shared_ptr<SigningKey>>> keys_of_agent(const std::string& path,
                                                               std::chrono::milliseconds deadline);

}  // namespace train
