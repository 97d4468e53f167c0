// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/log/log_reader.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/wire/output_chunk.hpp"

namespace train {

// The ends of logs, as chunks for watches that continue where those of another process have stopped
// (launcher/output). Only `rank`, `stream`, `bytes` and `dropped` of a chunk are set. The chunks,
// and the bytes that are read for them, are bounded, independent of the length of the log. All
// functions fail with class `no_input` when a log cannot be read; the result for a missing log is
// empty.

/// The unfinished last line of this rank's metrics log; empty when the log ends with a newline. A
/// gap instead, when a part of the line is missing or it is too long to be a report.
Result<std::vector<OutputChunk>> unfinished_report(const LogDirectory& directory,
                                                   const std::string& log_file, int rank);

/// The last output of this rank, by stream: its last `bytes`, rounded to the pieces of the log,
/// from the beginning of a line on.
Result<std::vector<OutputChunk>> last_printed(const LogDirectory& directory,
                                              const std::string& log_file, int rank,
                                              std::uint64_t bytes);

}  // namespace train
