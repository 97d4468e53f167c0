// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/measures/host_start.hpp"
#include "launcher/measures/usage_sample.hpp"

namespace train {

// Files of lines beside the record of a task. Each line stands alone: a line that cannot be read,
// of another version or cut off by a crash, is passed over.

/// Bounds of the files in bytes.
constexpr std::size_t longest_usage_file = 1u << 20;
constexpr std::size_t longest_starts_file = 4u << 20;

/// Appends a line. If the file is longer than `most` then, it keeps every second line, and the last
/// one. Returns whether it was halved. A line for which the disk has no room is lost without an
/// error.
Result<bool> append_halving(const std::string& file, std::string_view line, std::size_t most);

/// What the ranks used over time, oldest first; empty if nothing is recorded.
std::vector<UsageSample> read_usage(const std::string& file);
/// The last start that is recorded.
std::optional<AttemptStart> read_last_start(const std::string& file);

}  // namespace train
