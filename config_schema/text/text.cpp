// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace train {
std::string normalize_text(std::string_view text) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  while (text.substr(0, byte_order_mark.size()) == byte_order_mark)
    text.remove_prefix(byte_order_mark.size());
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    while (c == '\n' && !result.empty() && result.back() == '\r') result.pop_back();
    result += c;
  }
  return result;
}

std::optional<TextFault> find_text_fault(std::string_view bytes) {
  int line = 1;
  while (!bytes.empty()) {
    const auto first = static_cast<unsigned char>(bytes.front());
    if (first == '\n') ++line;
    const bool is_space = first == '\n' || first == '\t' || first == '\r';
    if ((first < 0x20 && !is_space) || first == 0x7f)
      return TextFault{fmt::format("the control character 0x{:02x}", first), line};
    const std::size_t length = utf8_length(bytes);
    if (length == 0) return TextFault{fmt::format("the byte 0x{:02x}, no UTF-8", first), line};
    bytes.remove_prefix(length);
  }
  return std::nullopt;
}

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  if (first >= 0xc2 && first <= 0xdf) length = 2;
  if (first >= 0xe0 && first <= 0xef) length = 3;
  if (first >= 0xf0 && first <= 0xf4) length = 4;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool is_overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool is_surrogate = first == 0xed && byte(1) >= 0xa0;
  const bool is_beyond = first == 0xf4 && byte(1) >= 0x90;
  return is_overlong || is_surrogate || is_beyond ? 0 : length;
}

std::uint32_t code_point(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence.front());
  if (sequence.size() == 1) return first;
  std::uint32_t code = first & (0xffu >> (sequence.size() + 1));
  for (const char c : sequence.substr(1))
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3fu);
  return code;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) lines.emplace_back(line);
  if (lines.size() > 1 && lines.back().empty()) lines.pop_back();
  return lines;
}

int column_of(std::string_view line, std::size_t offset) {
  return 1 + count_characters(line.substr(0, offset));
}

int count_characters(std::string_view text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::string to_upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return upper;
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14'695'981'039'346'656'037u;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * std::uint64_t{1'099'511'628'211u};
  return hash;
}

std::optional<int> whole_number(std::string_view text, int least, int most) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  const bool is_number = read.ec == std::errc() && read.ptr == end;
  return is_number && number >= least && number <= most ? std::optional(number) : std::nullopt;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string counted(const std::string& amount, std::string_view singular) {
  return fmt::format("{} {}{}", amount, singular, amount == "1" ? "" : "s");
}

std::string counted(std::int64_t amount, std::string_view singular) {
  return counted(std::to_string(amount), singular);
}

std::string join_words(const std::vector<std::string>& words, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 < words.size() ? ", " : fmt::format(" {} ", last);
    text += words[i];
  }
  return text;
}

int edit_distance(std::string_view from, std::string_view to, int limit) {
  const auto difference = static_cast<long>(from.size()) - static_cast<long>(to.size());
  if (difference > limit || -difference > limit) return limit + 1;
  std::vector<int> before_last(to.size() + 1);
  std::vector<int> last(to.size() + 1);
  std::vector<int> row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= from.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const int replaced = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool is_swap = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (is_swap) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    if (*std::min_element(row.begin(), row.end()) > limit) return limit + 1;
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return std::min(last[to.size()], limit + 1);
}

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  constexpr std::size_t longest = 64;  // no key is that long: the word is misplaced text
  if (word.empty() || word.size() > longest) return std::nullopt;
  const auto plain = [](std::string_view text) {
    std::string lower = to_lower(text);
    std::replace(lower.begin(), lower.end(), '-', '_');
    return lower;
  };
  const std::string wanted = plain(word);
  int best = std::max(1, static_cast<int>(word.size()) / 3);
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    const int distance = edit_distance(wanted, plain(candidate), best);
    if (distance > best || (found && distance == best)) continue;
    best = distance;
    found = candidate;
  }
  if (found || word.size() < 4) return found;
  for (const std::string& candidate : candidates)
    if (plain(candidate).substr(0, wanted.size()) == wanted) return candidate;
  return std::nullopt;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const auto found = nearest(word, candidates);
  return found ? fmt::format("did you mean '{}'?", *found) : std::string();
}

}  // namespace train
