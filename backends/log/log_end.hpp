// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/log/log_reader.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/wire/output_chunk.hpp"

namespace train {

// What logs end with, as chunks for watches that go on where those of another process have stopped
// (launcher/output). Only `rank`, `stream`, `bytes` and `dropped` of a chunk count. They are
// bounded, and so is what is read for them, whatever the length of the log. All fail with class
// `no_input` when a log cannot be read; one that is not there ends with nothing.

/// The line of this rank's metrics that has not ended: nothing where the last one has. A gap in its
/// place where not all of it is kept, or it is too long to be a report.
Result<std::vector<OutputChunk>> unfinished_report(const LogDirectory& directory,
                                                   const std::string& log_file, int rank);

/// What this rank has printed last, each stream by itself: `bytes` of it from the beginning of a
/// line on, and what else the first piece has.
Result<std::vector<OutputChunk>> last_printed(const LogDirectory& directory,
                                              const std::string& log_file, int rank,
                                              std::uint64_t bytes);

}  // namespace train
