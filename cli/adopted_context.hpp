// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/ports/context_source.hpp"

namespace train {

/// The context of a task that is gone on with. Hosts that have it keep it; where the directory has
/// changed since the launch (its archive has not `sha256` any more), that is a warning, and none
/// other is sent to hosts that lack it, so that all ranks have the same code. An empty `sha256`
/// stands for any.
ContextSource::Open adopted_context(ContextSource::Open open, std::string directory,
                                    std::string sha256);

}  // namespace train
