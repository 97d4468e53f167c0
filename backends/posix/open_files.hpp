// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <optional>

namespace train {

/// Raises this process's soft limit of open descriptors to its hard limit: it watches one
/// connection per host, or three descriptors per rank, and the usual soft limit of 1024 is for
/// programs that use select(). Returns the limit as it was, which is what the programs of others
/// that this process starts should get; nothing when it cannot be read.
std::optional<rlimit> raise_open_files_limit();

/// Sets the soft limit of open descriptors of this process, as far as its hard limit allows.
void set_open_files_limit(rlim_t soft);

}  // namespace train
