// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/terminal_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "config_schema/text/text.hpp"

namespace train {

namespace {

constexpr std::size_t block_size = sizeof(std::uint64_t);
constexpr std::uint64_t high_bits = 0x8080808080808080;

// Whether one of eight bytes may be a control character, or is not ASCII.
bool has_special(const char* block) {
  std::uint64_t word = 0;
  std::memcpy(&word, block, block_size);
  const std::uint64_t below_space = word - 0x2020202020202020;
  const std::uint64_t is_delete = (word ^ 0x7f7f7f7f7f7f7f7f) - 0x0101010101010101;
  return ((below_space | is_delete | word) & high_bits) != 0;
}

bool is_control(unsigned char ascii) { return (ascii < 0x20 && ascii != '\t') || ascii == 0x7f; }

// For a whole UTF-8 sequence of two or more bytes: C1, the separators U+2028 and U+2029, and
// characters that change the writing direction (Unicode's UAX #9, 2.1 to 2.6).
bool is_terminal_control(const unsigned char* sequence) {
  const unsigned char second = sequence[1];
  switch (sequence[0]) {
    case 0xc2:
      return second < 0xa0;  // U+0080 .. U+009F
    case 0xd8:
      return second == 0x9c;  // U+061C
    case 0xe2: {
      const unsigned char third = sequence[2];
      if (second == 0x80)  // U+200E, U+200F, U+2028 .. U+202E
        return third == 0x8e || third == 0x8f || (third >= 0xa8 && third <= 0xae);
      return second == 0x81 && third >= 0xa6 && third <= 0xa9;  // U+2066 .. U+2069
    }
    default:
      return false;
  }
}

// The length of the sequence at the front if it may be shown unchanged, else 0.
std::size_t passing_length(std::string_view text) {
  // Fast path for nearly all text that is not ASCII (East Asian text, progress bars): three-byte
  // sequences with a first byte for which no sequence is overlong, a surrogate or a control
  // character.
  const auto first = static_cast<unsigned char>(text.front());
  const bool is_common = first > 0xe0 && first < 0xf0 && first != 0xed && text.size() >= 3 &&
                         (first != 0xe2 || static_cast<unsigned char>(text[1]) > 0x81);
  if (is_common && is_continuation(text[1]) && is_continuation(text[2])) return 3;
  const std::size_t length = utf8_length(text);
  const auto* sequence = reinterpret_cast<const unsigned char*>(text.data());
  return length > 1 && is_terminal_control(sequence) ? 0 : length;
}

}  // namespace

std::size_t plain_length(std::string_view outside) {
  std::size_t at = 0;
  while (at < outside.size()) {
    // Nearly all bytes of nearly all lines may be shown, so eight bytes are checked at a time.
    if (outside.size() - at >= block_size && !has_special(outside.data() + at)) {
      at += block_size;
      continue;
    }
    const std::size_t block_end = std::min(at + block_size, outside.size());
    while (at < block_end) {
      const auto byte = static_cast<unsigned char>(outside[at]);
      if (byte < 0x80) {
        if (is_control(byte)) return at;
        ++at;
        continue;
      }
      const std::size_t length = passing_length(outside.substr(at));
      if (length == 0) return at;
      at += length;
    }
  }
  return at;
}

void append_escaped(std::string& text, std::string_view outside) {
  while (true) {
    const std::size_t plain = plain_length(outside);
    text += outside.substr(0, plain);
    outside.remove_prefix(plain);
    if (outside.empty()) return;
    const std::size_t length = utf8_length(outside);
    if (length > 1)
      fmt::format_to(std::back_inserter(text), "\\u{:04x}", code_point(outside.substr(0, length)));
    else
      fmt::format_to(std::back_inserter(text), "\\x{:02x}",
                     static_cast<unsigned char>(outside.front()));
    outside.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

std::string escaped(std::string_view outside) {
  std::string text;
  append_escaped(text, outside);
  return text;
}

std::string escaped_and_shortened(std::string_view outside) {
  constexpr std::size_t longest = 3000;
  constexpr std::size_t kept_end = 800;
  // Cuts before escaping: the part that is cut off may have megabytes.
  const bool is_long = outside.size() > longest;
  std::string front = escaped(outside.substr(0, longest));
  if (!is_long && front.size() <= longest) return front;
  std::string back = is_long ? escaped(outside.substr(outside.size() - longest)) : front;
  std::size_t front_end = longest - kept_end;
  while (front_end > 0 && is_continuation(front[front_end])) --front_end;
  std::size_t back_begin = back.size() - kept_end;
  while (back_begin < back.size() && is_continuation(back[back_begin])) ++back_begin;
  return front.substr(0, front_end) + " ... " + back.substr(back_begin);
}

std::string printable(std::string_view text, std::size_t limit) {
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  text = trim(text);
  if (text.size() > limit) {
    text.remove_prefix(text.size() - limit);
    while (!text.empty() && is_continuation(text.front())) text.remove_prefix(1);
  }
  std::string line;
  for (const char c : text) {
    if (!is_space(c))
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  return escaped(line);
}

std::string json_quoted(std::string_view text) {
  std::string json = "\"";
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    const std::size_t length = utf8_length(text);
    if (const std::size_t special = std::string_view("\"\\\n\r\t").find(text.front());
        special != std::string_view::npos) {
      json += '\\';
      json += std::string_view("\"\\nrt")[special];
    } else if (byte < 0x20) {
      json += fmt::format("\\u{:04x}", byte);
    } else if (length == 0) {
      json += "\\ufffd";
    } else {
      json += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return shown_json(std::move(json)) += '"';
}

std::string shown_json(std::string json) {
  const std::string_view all = json;
  std::string shown;
  std::size_t copied = 0;
  std::size_t at = plain_length(all);
  for (; at < all.size(); at += plain_length(all.substr(at))) {
    const std::size_t length = std::max<std::size_t>(utf8_length(all.substr(at)), 1);
    // The other bytes that stop the scan are newlines between values, and bytes that are not text.
    if (length > 1 || all[at] == 0x7f) {
      shown += all.substr(copied, at - copied);
      fmt::format_to(std::back_inserter(shown), "\\u{:04x}", code_point(all.substr(at, length)));
      copied = at + length;
    }
    at += length;
  }
  if (copied == 0) return json;
  return shown += all.substr(copied);
}

}  // namespace train
