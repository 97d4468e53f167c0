// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "backends/posix/connected_process.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// Runs a program and returns its standard output, at most `most_output` bytes, if it ends with
/// code 0 within the limit. Else an error, with the last line of its standard error: class
/// `missing` if it cannot be executed, else `host`. It runs in a session of its own and is killed
/// with its process group at the limit; a process that hangs in the kernel is left. It gets
/// `input`, at most 64 KiB, on standard input, which it need not read.
Result<std::string> run_shortly(const ProgramCall& call, milliseconds limit,
                                std::size_t most_output = std::size_t{64} << 10,
                                std::string_view input = {});

}  // namespace train
