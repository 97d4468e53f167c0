// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "config_schema/text/error.hpp"

namespace train {

/// The part of a segment that its index confirms.
struct WholePart {
  std::uint64_t bytes = 0;       ///< from the beginning of the segment
  std::uint64_t index_size = 0;  ///< bytes of the index; 0 when even its header is missing
  std::uint64_t dropped = 0;     ///< in gaps
};

/// Checks a segment of a log and its index, which a crash may have left in any state, up to the
/// first record that is torn, out of order, or does not match the bytes. A missing file counts as
/// empty. Fails with class `no_input` when a file cannot be read.
Result<WholePart> whole_part(const std::string& log_file, std::uint64_t begin);

/// Cuts off what follows the whole part, and syncs the rest to the disk. Missing files are created.
/// Fails with class `no_input`.
Result<void> cut_to(const std::string& log_file, std::uint64_t begin, const WholePart& part);

}  // namespace train
