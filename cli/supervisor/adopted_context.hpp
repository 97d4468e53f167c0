// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/context/context_packer.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// Reads the context of a resumed task: the archive kept in its bundle, which must match the
/// record, else its directory.
ContextPacker::Read reads_kept_context(std::string bundle, ContextRecord recorded,
                                       const std::string& directory);

/// The context of a resumed task. Hosts that have it keep it. If its directory must be read and has
/// changed since the launch, that is a warning, and no context is sent to hosts that lack it, so
/// that all ranks have the same code. A record without a checksum matches any context.
ContextSource::Open adopted_context(Loop& loop, std::string directory, ContextRecord recorded,
                                    std::string bundle);
/// The same with another source of the context.
ContextSource::Open adopted_context(ContextSource::Open open, std::string directory,
                                    std::string sha256);

}  // namespace train
