// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hosts/host_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "config_schema/text/text.hpp"

namespace train {

namespace {

template <class T>
using Expanded = tl::expected<T, HostSetError>;

// first, first + step, ... up to last; `width` is the number of digits with leading zeros, or 0.
struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t step = 1;
  std::size_t width = 0;

  std::uint64_t count() const { return (last - first) / step + 1; }
};

// A piece of a pattern: the text before a bracket, and the bracket's ranges (none at the end).
struct Piece {
  std::string text;
  std::vector<Range> ranges;
};

Expanded<std::uint64_t> read_number(std::string_view digits, std::size_t offset,
                                    std::string_view range) {
  constexpr std::size_t longest = 18;
  if (digits.empty())
    return refuse_at(offset, fmt::format("a number is missing in '[{}]'", range),
                     "write ranges as [1-3] or [1,3]");
  if (!std::all_of(digits.begin(), digits.end(), is_digit))
    return refuse_at(offset, fmt::format("'{}' is no number", digits),
                     "brackets hold numbers and ranges: [01-16,20]");
  if (digits.size() > longest)
    return refuse_at(offset, fmt::format("'{}' has more than {} digits", digits, longest));
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

bool is_padded(std::string_view digits) { return digits.size() > 1 && digits.front() == '0'; }

Expanded<Range> read_range(std::string_view text, std::size_t offset) {
  Range range;
  std::string_view bounds = text;
  if (const std::size_t slash = text.find('/'); slash != text.npos) {
    bounds = text.substr(0, slash);
    const auto step = read_number(text.substr(slash + 1), offset + slash + 1, text);
    if (!step) return tl::make_unexpected(step.error());
    if (*step == 0 || bounds.find('-') == bounds.npos)
      return refuse_at(offset, fmt::format("'{}' has a step that makes no range", text),
                       "write steps as [0-8/2]");
    range.step = *step;
  }
  const std::size_t dash = bounds.find('-');
  const std::string_view first = bounds.substr(0, dash);
  const std::string_view last = dash == bounds.npos ? first : bounds.substr(dash + 1);
  const auto begin = read_number(first, offset, text);
  if (!begin) return tl::make_unexpected(begin.error());
  const auto end = read_number(last, offset + (dash == bounds.npos ? 0 : dash + 1), text);
  if (!end) return tl::make_unexpected(end.error());
  if (*begin > *end)
    return refuse_at(offset, fmt::format("the range '{}' runs backwards", text),
                     fmt::format("write {}-{}", last, first));
  if ((is_padded(first) || is_padded(last)) && first.size() != last.size())
    return refuse_at(offset, fmt::format("'{}' and '{}' have different widths", first, last),
                     "with leading zeros both ends of a range need as many digits");
  range.first = *begin;
  range.last = *end;
  range.width = is_padded(first) ? first.size() : 0;
  return range;
}

Expanded<std::vector<Range>> read_ranges(std::string_view text, std::size_t offset) {
  if (text.empty())
    return refuse_at(offset, "'[]' is empty", "write numbers in it, or no brackets");
  std::vector<Range> ranges;
  for (const std::string_view part : split(text, ',')) {
    const auto range = read_range(part, offset);
    if (!range) return tl::make_unexpected(range.error());
    ranges.push_back(*range);
    offset += part.size() + 1;
  }
  return ranges;
}

bool is_name_char(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || is_digit(c) || c == '-' || c == '.' || c == '_';
}

// The whole character at byte `at`.
std::string_view character_at(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && is_continuation(text[end])) ++end;
  return text.substr(at, end - at);
}

// The fault in the text of a name outside brackets, if there is one.
std::optional<HostSetError> check_text(std::string_view text) {
  const auto strange = static_cast<std::size_t>(
      std::find_if_not(text.begin(), text.end(), is_name_char) - text.begin());
  if (strange < text.size()) {
    const char c = text[strange];
    return HostSetError{
        strange, fmt::format("'{}' cannot be in a host's name", character_at(text, strange)),
        c == ' ' || c == '\t' || c == '=' ? "separate hosts by commas, and write slots as node01:8"
        : c == '{' || c == '}'            ? "sets are written in brackets: node[01-04]"
                                          : "names have letters, digits, '-', '.' and '_'"};
  }
  if (const std::size_t dots = text.find(".."); dots != text.npos)
    return HostSetError{dots, "two dots in a row cannot be in a host's name", {}};
  return std::nullopt;
}

// "10.0.0.256" is no valid name either: resolvers take it for an address.
bool is_broken_address(std::string_view name) {
  constexpr std::string_view letters = "0123456789.";
  if (name.find_first_not_of(letters) != name.npos) return false;
  const auto parts = split(name, '.');
  return parts.size() == 4 && std::any_of(parts.begin(), parts.end(), [](std::string_view part) {
           constexpr int most = 255;
           int number = -1;
           std::from_chars(part.data(), part.data() + part.size(), number);
           return part.size() > 3 || number < 0 || number > most;
         });
}

Expanded<std::vector<Piece>> read_pieces(std::string_view pattern) {
  std::vector<Piece> pieces;
  std::size_t at = 0;
  while (at < pattern.size()) {
    Piece piece;
    const std::size_t open = std::min(pattern.find('[', at), pattern.size());
    piece.text = std::string(pattern.substr(at, open - at));
    if (const std::size_t bracket = piece.text.find(']'); bracket != piece.text.npos)
      return refuse_at(at + bracket, fmt::format("']' without '[' in '{}'", pattern));
    if (const auto trouble = check_text(piece.text))
      return refuse_at(at + trouble->offset, trouble->message, trouble->hint);
    at = open;
    if (open < pattern.size()) {
      const std::size_t close = pattern.find(']', open);
      const std::size_t inner = pattern.find('[', open + 1);
      if (close == pattern.npos || inner < close)
        return refuse_at(open, fmt::format("'[' is not closed in '{}'", pattern), "add ']'");
      auto ranges = read_ranges(pattern.substr(open + 1, close - open - 1), open + 1);
      if (!ranges) return tl::make_unexpected(ranges.error());
      piece.ranges = std::move(*ranges);
      at = close + 1;
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

// The number of resulting names, without overflow: anything beyond the limit is `limit + 1`.
std::size_t count_names(const std::vector<Piece>& pieces, std::size_t limit) {
  std::size_t names = 1;
  for (const Piece& piece : pieces) {
    if (piece.ranges.empty()) continue;
    std::size_t values = 0;
    for (const Range& range : piece.ranges) {
      if (range.count() > limit) return limit + 1;
      values += static_cast<std::size_t>(range.count());
      if (values > limit) return limit + 1;
    }
    if (values > limit / names) return limit + 1;
    names *= values;
  }
  return names;
}

// The length of the longest resulting name.
std::size_t longest_name(const std::vector<Piece>& pieces) {
  std::size_t length = 0;
  for (const Piece& piece : pieces) {
    std::size_t digits = 0;
    for (const Range& range : piece.ranges)
      digits = std::max({digits, range.width, fmt::formatted_size("{}", range.last)});
    length += piece.text.size() + digits;
  }
  return length;
}

void append_names(const std::vector<Piece>& pieces, std::size_t at, const std::string& begun,
                  std::vector<std::string>& names) {
  if (at == pieces.size()) {
    names.push_back(begun);
    return;
  }
  const Piece& piece = pieces[at];
  if (piece.ranges.empty()) return append_names(pieces, at + 1, begun + piece.text, names);
  for (const Range& range : piece.ranges)
    for (std::uint64_t i = 0; i < range.count(); ++i)
      append_names(
          pieces, at + 1,
          fmt::format("{}{}{:0{}}", begun, piece.text, range.first + i * range.step, range.width),
          names);
}

// Numbers come from brackets, so names are checked after they are made.
std::optional<std::string> find_broken_address(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (is_digit(name.front()) && is_broken_address(name)) return name;
  return std::nullopt;
}

}  // namespace

Expanded<std::vector<HostListPart>> split_host_list(std::string_view list) {
  std::vector<HostListPart> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const bool is_end = i == list.size();
    if (!is_end && list[i] == '[') ++depth;
    if (!is_end && list[i] == ']') depth = std::max(0, depth - 1);
    if (!is_end && (list[i] != ',' || depth > 0)) continue;
    const std::string_view part = list.substr(begin, i - begin);
    const std::string_view text = trim(part);
    if (text.empty())
      return refuse_at(
          std::min(begin, list.empty() ? 0 : list.size() - 1),
          trim(list).empty() ? "the list of hosts is empty" : "a host is missing beside the comma",
          "write hosts as node[01-04],gpu-b");
    parts.push_back({text, begin + static_cast<std::size_t>(text.data() - part.data())});
    begin = i + 1;
  }
  return parts;
}

Expanded<std::vector<std::string>> expand_host_pattern(std::string_view pattern,
                                                       std::size_t limit) {
  // The limits also bound the recursion and the memory of parsing. The length fits a set of
  // `max_hosts` hosts with separate numbers.
  constexpr std::size_t longest = 20 * max_hosts;
  constexpr std::size_t most_brackets = 16;
  if (pattern.empty()) return refuse_at(0, "a host's name is missing");
  if (pattern.size() > longest) return refuse_at(0, "the host set is too long");
  if (pattern.front() == '-' || pattern.front() == '.')
    return refuse_at(0, fmt::format("'{}' begins with '{}'", pattern, pattern.front()),
                     "no host's name does");
  auto pieces = read_pieces(pattern);
  if (!pieces) return tl::make_unexpected(pieces.error());
  if (pieces->size() > most_brackets)
    return refuse_at(0, fmt::format("more than {} brackets in one name", most_brackets));
  const std::size_t count = count_names(*pieces, limit);
  if (count > limit)
    return refuse_at(0,
                     limit < max_hosts
                         ? fmt::format("with '{}' there are more than {} hosts", pattern, max_hosts)
                         : fmt::format("'{}' makes more than {} hosts", pattern, max_hosts));
  if (longest_name(*pieces) > max_host_name)
    return refuse_at(0, fmt::format("a name of more than {} characters", max_host_name),
                     "no host's name is as long");
  std::vector<std::string> names;
  names.reserve(count);
  append_names(*pieces, 0, {}, names);
  if (const auto name = find_broken_address(names))
    return refuse_at(0, fmt::format("'{}' is no IPv4 address", *name));
  return names;
}

Expanded<std::vector<std::string>> expand_host_set(std::string_view list, std::size_t limit) {
  const auto parts = split_host_list(list);
  if (!parts) return tl::make_unexpected(parts.error());
  std::vector<std::string> names;
  for (const HostListPart& part : *parts) {
    auto expanded = expand_host_pattern(part.text, limit - names.size());
    if (!expanded) {
      expanded.error().offset += part.offset;
      return tl::make_unexpected(expanded.error());
    }
    std::move(expanded->begin(), expanded->end(), std::back_inserter(names));
  }
  return names;
}

}  // namespace train
