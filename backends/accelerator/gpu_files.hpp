// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// Small files and folders of the kernel. If one cannot be read, the result is empty.

/// The names in a folder, without those that begin with a dot; at most some thousands.
std::vector<std::string> visible_names_in(const std::string& folder);
/// At most 16 KiB of a file.
std::string small_text(const std::string& file);
/// Whether the file exists, and this user may read and write it.
bool may_use(const std::string& device);
bool is_there(const std::string& file);

/// The value after a key at the beginning of a line, with the separator `between`: "7" for
/// "Device Minor: \t 7" with ':', or for "simd_count 7" with ' '. Empty if there is no such line.
std::string_view value_of(std::string_view text, std::string_view key, char between);
/// Parses a text that is a decimal number and nothing else.
std::optional<unsigned long long> number_of(std::string_view text);

}  // namespace train
