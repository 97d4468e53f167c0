// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// What a program has printed on its standard output, at most 64 KiB, when it has ended with code 0
/// within the limit. Else why not, with the last line that it has printed on standard error: class
/// `missing` where it cannot be executed, else `host`. It runs in a session of its own and is ended
/// with its process group at the limit.
Result<std::string> run_shortly(const std::string& program, std::vector<std::string> arguments,
                                std::vector<std::string> environment, milliseconds limit);

}  // namespace train
