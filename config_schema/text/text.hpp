// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// A text without byte order mark and with `\n` line ends only. What is normalized stays as it is.
std::string normalize_text(std::string_view text);

/// Why these bytes are no text that people write, or nothing when they are: not UTF-8, or with
/// control characters other than tab and line ends. `line` (from 1) says where.
struct NoText {
  std::string reason;
  int line = 0;
};
std::optional<NoText> find_no_text(std::string_view bytes);

/// The length of the UTF-8 sequence at the front of a text that is not empty; 0 when it is cut off,
/// broken, overlong or a surrogate.
std::size_t utf8_length(std::string_view text);

/// The code point that a whole UTF-8 sequence stands for.
std::uint32_t code_point(std::string_view sequence);

/// The lines of a normalized text, without their ends.
std::vector<std::string> split_lines(std::string_view text);

/// The column, from 1 and in characters, of byte `offset` of a UTF-8 line.
int column_of(std::string_view line, std::size_t offset);

/// How many characters (code points) a UTF-8 text has.
int count_characters(std::string_view text);

std::string_view trim(std::string_view text);
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);

/// The parts between separators; always at least one.
std::vector<std::string_view> split(std::string_view text, char separator);

/// "1 slot", "4 slots", "0.5 slots".
std::string counted(const std::string& amount, std::string_view singular);
std::string counted(std::int64_t amount, std::string_view singular);

/// "a, b and c".
std::string join_words(const std::vector<std::string>& words, std::string_view last = "and");

}  // namespace train
