// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/columns.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "config_schema/text/text.hpp"

namespace train {
namespace {

using CodeRange = std::pair<std::uint32_t, std::uint32_t>;

constexpr std::array<CodeRange, 14> marks{{{0x0300, 0x036f},
                                           {0x0483, 0x0489},
                                           {0x0591, 0x05bd},
                                           {0x0610, 0x061a},
                                           {0x064b, 0x065f},
                                           {0x0e31, 0x0e31},
                                           {0x0e34, 0x0e3a},
                                           {0x1ab0, 0x1aff},
                                           {0x1dc0, 0x1dff},
                                           {0x200b, 0x200f},
                                           {0x20d0, 0x20ff},
                                           {0xfe00, 0xfe0f},
                                           {0xfe20, 0xfe2f},
                                           {0xe0100, 0xe01ef}}};

constexpr std::array<CodeRange, 11> wide{{{0x1100, 0x115f},
                                          {0x2e80, 0x303e},
                                          {0x3041, 0xa4cf},
                                          {0xa960, 0xa97f},
                                          {0xac00, 0xd7a3},
                                          {0xf900, 0xfaff},
                                          {0xfe30, 0xfe6f},
                                          {0xff00, 0xff60},
                                          {0xffe0, 0xffe6},
                                          {0x1f300, 0x1faff},
                                          {0x20000, 0x3fffd}}};

template <std::size_t count>
bool is_in(std::uint32_t code, const std::array<CodeRange, count>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [code](const CodeRange& range) {
    return code >= range.first && code <= range.second;
  });
}

struct Character {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};

// The character at the front of a non-empty text.
Character first_character(std::string_view text) {
  const std::size_t bytes = utf8_length(text);
  if (bytes < 2) return {};  // ASCII, or an invalid byte
  const std::uint32_t code = code_point(text.substr(0, bytes));
  return {bytes, is_in(code, marks) ? 0u : is_in(code, wide) ? 2u : 1u};
}

}  // namespace

std::size_t count_columns(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const bool is_ascii = static_cast<unsigned char>(text.front()) < 0x80;
    const Character character = is_ascii ? Character() : first_character(text);
    columns += character.columns;
    text.remove_prefix(character.bytes);
  }
  return columns;
}

std::string shortened(std::string_view text, std::size_t columns) {
  if (count_columns(text) <= columns) return std::string(text);
  std::size_t end = 0;
  std::size_t taken = 0;
  while (end < text.size()) {
    const Character character = first_character(text.substr(end));
    if (taken + character.columns + 3 > columns) break;
    taken += character.columns;
    end += character.bytes;
  }
  return std::string(text.substr(0, end)) + "...";
}

std::string shortened_inside(std::string_view text, std::size_t columns) {
  const std::size_t all = count_columns(text);
  if (all <= columns) return std::string(text);
  const std::size_t behind = columns > 4 ? (columns - 3) / 2 : 0;
  const std::string front = shortened(text, columns - behind);
  std::size_t skipped = 0;
  std::size_t begin = 0;
  while (begin < text.size() && skipped + behind < all) {
    const Character character = first_character(text.substr(begin));
    skipped += character.columns;
    begin += character.bytes;
  }
  return front + std::string(text.substr(begin));
}

std::string padded(std::string_view text, std::size_t columns) {
  return std::string(text) + std::string(columns - std::min(columns, count_columns(text)), ' ');
}

}  // namespace train
