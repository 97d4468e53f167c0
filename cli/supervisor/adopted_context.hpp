// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/context/context_packer.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// Reads the context of a task that is gone on with: what was kept of it in its bundle, which must
/// be what is recorded, else its directory.
ContextPacker::Read reads_kept_context(std::string bundle, ContextRecord recorded,
                                       const std::string& directory);

/// The context of such a task. Hosts that have it keep it; where its directory has to be read and
/// has changed since the launch, that is a warning, and none other is sent to hosts that lack it,
/// so that all ranks have the same code. A record without a checksum stands for any.
ContextSource::Open adopted_context(Loop& loop, std::string directory, ContextRecord recorded,
                                    std::string bundle);
/// The same from another source.
ContextSource::Open adopted_context(ContextSource::Open open, std::string directory,
                                    std::string sha256);

}  // namespace train
