// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/context/archive.hpp"
#include "launcher/context/context.hpp"

namespace train {

/// Writes the entries of an archive into an empty folder. Every folder on a path is opened on its
/// own, never through a link; no existing file is opened; whole blocks of zeros become holes.
/// Errors are of class `host` and name the path.
class ContextUnpacker final : public ArchiveSink {
 public:
  /// `name` is the name of the folder in errors. `folder` must outlive the unpacker.
  ContextUnpacker(int folder, std::string name) : root_(folder), name_(std::move(name)) {}

  Result<void> begin(const ContextEntry& entry) override;
  Result<void> content(std::string_view bytes) override;
  Result<void> end() override;

 private:
  Result<int> open_folder(std::string_view folder);
  tl::unexpected<Error> trouble(std::string_view doing, int error) const;

  struct OpenFolder {
    std::string path;
    Descriptor descriptor;
  };
  int root_;
  std::string name_;
  std::vector<OpenFolder> open_;  ///< from the root to the folder of the last entry
  ContextEntry entry_;
  Descriptor file_;
  std::uint64_t offset_ = 0;
};

/// Unpacks a packed (gzip) context into an empty folder and checks size and checksum. False when
/// the bytes are not those of that context; an error, of class `host`, when they cannot be written
/// or read, or when `cancelled`.
Result<bool> unpack_context(int packed_file, const Context& context, int folder,
                            const std::string& folder_name, const std::atomic<bool>& cancelled);

}  // namespace train
