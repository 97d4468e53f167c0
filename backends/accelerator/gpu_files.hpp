// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// Small files and folders of the kernel. What cannot be read is empty.

/// The names in a folder, without those that begin with a dot; at most some thousands.
std::vector<std::string> visible_names_in(const std::string& folder);
/// At most 16 KiB of a file.
std::string small_text(const std::string& file);
/// Whether it is there, and this user may read and write it.
bool may_use(const std::string& device);
bool is_there(const std::string& file);

/// What follows a key at the beginning of a line: "7" of "Device Minor: \t 7" with ':' between
/// them, of "simd_count 7" with ' '. Empty: there is no such line.
std::string_view value_of(std::string_view text, std::string_view key, char between);
/// A whole decimal number, and nothing else.
std::optional<unsigned long long> number_of(std::string_view text);

}  // namespace train
