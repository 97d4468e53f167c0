// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "config_schema/text/error.hpp"

namespace train {

/// What of a segment its index vouches for.
struct WholePart {
  std::uint64_t bytes = 0;       ///< from the beginning of the segment
  std::uint64_t index_size = 0;  ///< of the index; 0 when not even its header is there
  std::uint64_t dropped = 0;     ///< in gaps
};

/// Reads a segment of a log and its index, which a crash may have left in any state: up to the
/// first record that is torn, out of turn, or not about the bytes that are there. A file that is
/// missing is like an empty one. Fails with class `no_input` when one cannot be read.
Result<WholePart> whole_part(const std::string& log_file, std::uint64_t begin);

/// Cuts off what follows the whole part, and makes sure that the rest is on the disk. Files that
/// are missing are made. Fails with class `no_input`.
Result<void> cut_to(const std::string& log_file, std::uint64_t begin, const WholePart& part);

}  // namespace train
