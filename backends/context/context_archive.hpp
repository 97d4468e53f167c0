// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/context/context_files.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/context/context.hpp"

struct z_stream_s;

namespace train {

/// A directory that was read into an archive, with its checksum.
struct ArchivedContext {
  Context context;
  std::string archive;  ///< in the format of archive.hpp
  std::size_t files = 0;
  std::uint64_t bytes = 0;            ///< of all files
  std::vector<std::string> warnings;  ///< a line each
};

/// Reads the files that `find_context_files` lists into memory. A file that changes meanwhile is an
/// error of class `config`.
Result<ArchivedContext> archive_context(const std::string& directory,
                                        const std::vector<FileIdentity>& own_output,
                                        const std::atomic<bool>& cancelled);

/// Compresses an archive (gzip), piece by piece.
class ContextCompressor {
 public:
  /// The archive must outlive it.
  explicit ContextCompressor(std::string_view archive);
  ~ContextCompressor();
  ContextCompressor(const ContextCompressor&) = delete;
  ContextCompressor& operator=(const ContextCompressor&) = delete;

  /// The next piece, of `context_piece_size` bytes; the last one is smaller, and may be empty. Must
  /// not be called after the last one.
  std::string next();

 private:
  std::unique_ptr<z_stream_s> stream_;
};

}  // namespace train
