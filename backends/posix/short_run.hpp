// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backends/posix/connected_process.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// What a program has printed on its standard output, at most so many bytes, when it has ended with
/// code 0 within the limit. Else why not, with the last line that it has printed on standard error:
/// class `missing` where it cannot be executed, else `host`. It runs in a session of its own and is
/// ended with its process group at the limit; one that hangs in the kernel is left.
Result<std::string> run_shortly(const ProgramCall& call, milliseconds limit,
                                std::size_t most_output = std::size_t{64} << 10);

}  // namespace train
