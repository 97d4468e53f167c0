// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/context/context_files.hpp"

namespace train {

/// That a context is neither too large nor of too many entries; else an error of class `config`
/// which names what takes most.
Result<void> check_context_limits(const ContextFiles& files);

/// The file of a directory in which a user names what is to stay at home, whatever else counts.
std::string ignore_file_of(const std::string& directory);

/// "3.4 MiB", "512 bytes".
std::string size_text(std::uint64_t bytes);

}  // namespace train
