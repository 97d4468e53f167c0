// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// The text without byte order mark and with `
/// ` newlines only. Idempotent.
std::string normalize_text(std::string_view text);

/// Why bytes are not text that people write: a byte that is not UTF-8, or a control character other
/// than tab and newlines.
struct TextFault {
  std::string reason;  ///< "the control character 0x01", "the byte 0xff, no UTF-8"
  int line = 0;        ///< from 1
};
/// The first fault, if any.
std::optional<TextFault> find_text_fault(std::string_view bytes);

/// The length of the UTF-8 sequence at the front of a non-empty text; 0 if it is cut off, broken,
/// overlong or a surrogate.
std::size_t utf8_length(std::string_view text);

/// Whether a byte is one of a UTF-8 sequence after its first.
constexpr bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

/// The code point that a whole UTF-8 sequence stands for.
std::uint32_t code_point(std::string_view sequence);

/// The lines of a normalized text, without their newlines.
std::vector<std::string> split_lines(std::string_view text);

/// The column, from 1 and in characters, of byte `offset` of a UTF-8 line.
int column_of(std::string_view line, std::size_t offset);

/// How many characters (code points) a UTF-8 text has.
int count_characters(std::string_view text);

/// Whether a byte is one of 0 to 9.
constexpr bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

std::string_view trim(std::string_view text);
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);

/// Whether a byte needs no quoting in a file name: a letter, a digit, '_', '.' or '-'.
constexpr bool is_plain_byte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || is_digit(byte) ||
         byte == '_' || byte == '.' || byte == '-';
}
/// FNV-1a, 64 bits: distinguishes texts, but is not safe against deliberate collisions.
std::uint64_t hash_of(std::string_view text);

/// The value of a text of decimal digits only, if it is from `least` to `most`.
std::optional<int> whole_number(std::string_view text, int least, int most);

/// The parts between separators; always at least one.
std::vector<std::string_view> split(std::string_view text, char separator);

/// "1 slot", "4 slots", "0.5 slots".
std::string counted(const std::string& amount, std::string_view singular);
std::string counted(std::int64_t amount, std::string_view singular);

/// "a, b and c".
std::string join_words(const std::vector<std::string>& words, std::string_view last = "and");

/// The number of insertions, deletions, replacements and swaps of neighbours that turn one word
/// into the other; `limit + 1` as soon as it exceeds `limit`.
int edit_distance(std::string_view from, std::string_view to, int limit);

/// The candidate that the word probably means; nothing if none is similar. Ignores case, and the
/// difference between `-` and `_`; ties go to the earlier candidate. If none is similar, the word
/// may still be the beginning of one ("slots" of "slots_per_trial").
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

/// "did you mean 'x'?", or empty if no candidate is similar.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace train
