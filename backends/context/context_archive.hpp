// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "backends/context/context_files.hpp"
#include "config_schema/error.hpp"
#include "launcher/context/context.hpp"

namespace train {

/// A directory, read and named.
struct ArchivedContext {
  Context context;
  std::string archive;  ///< archive_writer.hpp
  std::size_t files = 0;
  std::uint64_t bytes = 0;            ///< of all files
  std::vector<std::string> warnings;  ///< a line each
};

/// Reads a directory as `find_context_files` finds it, all of it into memory. A file that changes
/// meanwhile is an error of class `config`.
Result<ArchivedContext> archive_context(const std::string& directory,
                                        const std::vector<FileIdentity>& own_output,
                                        const std::atomic<bool>& cancelled);

/// Compresses an archive (gzip) and hands it out in pieces of `context_piece_size`, but for the
/// last, which is smaller and may be empty. Ends early when `cancelled`.
void compress_context(const std::string& archive, const std::atomic<bool>& cancelled,
                      const std::function<void(std::string_view piece)>& on_piece);

}  // namespace train
