// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/line_splitter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace train {
namespace {

constexpr std::size_t block_size = sizeof(std::uint64_t);

// In the high bit of each byte of the result, whether the same byte of the word is 0. Only the
// lowest one is sure.
constexpr std::uint64_t zero_bytes(std::uint64_t word) {
  return (word - 0x0101010101010101) & ~word & 0x8080808080808080;
}

// Whether one of the bytes may be a control character, or begin one of C1 in UTF-8 (0xc2).
bool has_special(const char* block) {
  std::uint64_t word = 0;
  std::memcpy(&word, block, block_size);
  const std::uint64_t below_space = (word - 0x2020202020202020) & ~word & 0x8080808080808080;
  return (below_space | zero_bytes(word ^ 0x7f7f7f7f7f7f7f7f) |
          zero_bytes(word ^ 0xc2c2c2c2c2c2c2c2)) != 0;
}

bool is_special(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && byte != '\t') || byte == 0x7f || byte == 0xc2;
}

// How many bytes at the start of the line are shown as they are. Nearly all bytes of nearly all
// lines are, so eight at a time are looked at.
std::size_t plain_length(std::string_view line) {
  std::size_t length = 0;
  while (length < line.size()) {
    const std::size_t end = std::min(length + block_size, line.size());
    const bool is_whole = end - length == block_size;
    if (is_whole && !has_special(line.data() + length)) {
      length = end;
      continue;
    }
    for (; length < end; ++length)
      if (is_special(line[length])) return length;
  }
  return length;
}

}  // namespace

void append_for_terminal(std::string& text, std::string_view line) {
  std::size_t plain = plain_length(line);
  if (plain < line.size()) {
    while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const std::size_t overwritten = line.rfind('\r');
    if (overwritten != std::string_view::npos) line.remove_prefix(overwritten + 1);
    plain = plain_length(line);
  }
  while (true) {
    text += line.substr(0, plain);
    line.remove_prefix(plain);
    if (line.empty()) return;
    const bool may_be_c1 = line.front() == '\xc2';
    const bool is_c1 = may_be_c1 && line.size() > 1 && static_cast<unsigned char>(line[1]) < 0xa0;
    if (may_be_c1 && !is_c1) {
      text += line.front();
    } else {
      line.remove_prefix(is_c1 ? 1 : 0);
      fmt::format_to(std::back_inserter(text), "\\x{:02x}",
                     static_cast<unsigned char>(line.front()));
    }
    line.remove_prefix(1);
    plain = plain_length(line);
  }
}

std::string for_terminal(std::string_view line) {
  std::string text;
  append_for_terminal(text, line);
  return text;
}

void Tail::add(std::string_view line) {
  constexpr std::size_t longest = 500;
  if (lines_.size() == limit_) lines_.erase(lines_.begin());
  lines_.emplace_back(line.substr(0, longest));
  if (line.size() > longest) lines_.back() += "...";
}

}  // namespace train
