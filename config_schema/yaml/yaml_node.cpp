// SPDX-License-Identifier: Apache-2.0
#include "config_schema/yaml/yaml_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "config_schema/text/text.hpp"

namespace train {

namespace {

bool is_among(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::string_view without_sign(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return text;
}

std::size_t count_digits(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) -
                                  text.begin());
}

bool looks_decimal(std::string_view text) {
  const std::string_view digits = without_sign(text);
  return !digits.empty() && count_digits(digits) == digits.size();
}

// [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool looks_real(std::string_view text) {
  std::string_view rest = without_sign(text);
  const std::size_t whole = count_digits(rest);
  rest.remove_prefix(whole);
  std::size_t fraction = 0;
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    fraction = count_digits(rest);
    rest.remove_prefix(fraction);
  }
  if (whole + fraction == 0) return false;
  if (rest.empty()) return true;
  if (rest.front() != 'e' && rest.front() != 'E') return false;
  return looks_decimal(rest.substr(1));
}

double to_double(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc::result_out_of_range) return value;
  const bool is_tiny = text.find("e-") != text.npos || text.find("E-") != text.npos;
  if (is_tiny) return 0;
  const double infinity = std::numeric_limits<double>::infinity();
  return text.front() == '-' ? -infinity : infinity;
}

template <class Integer>
std::optional<Integer> to_integer(std::string_view digits, int base) {
  if (!digits.empty() && digits.front() == '+') digits.remove_prefix(1);
  Integer value = 0;
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, value, base);
  if (error != std::errc() || end != last) return std::nullopt;
  return value;
}

// 0o and 0x have no sign in the core schema.
bool resolve_based(YamlNode& node) {
  const std::string_view text = node.text;
  if (text.size() < 3 || text[0] != '0' || (text[1] != 'o' && text[1] != 'x')) return false;
  const bool is_octal = text[1] == 'o';
  const std::string_view digits = text.substr(2);
  const std::string_view allowed = is_octal ? "01234567" : "0123456789abcdefABCDEF";
  if (digits.find_first_not_of(allowed) != digits.npos) return false;
  node.kind = YamlKind::integer;
  node.integer = to_integer<std::int64_t>(digits, is_octal ? 8 : 16);
  node.real =
      node.integer ? static_cast<double>(*node.integer) : std::numeric_limits<double>::infinity();
  return true;
}

bool resolve_special_real(YamlNode& node) {
  if (is_among(node.text, {".nan", ".NaN", ".NAN"})) {
    node.real = std::numeric_limits<double>::quiet_NaN();
  } else if (is_among(without_sign(node.text), {".inf", ".Inf", ".INF"})) {
    const double infinity = std::numeric_limits<double>::infinity();
    node.real = node.text.front() == '-' ? -infinity : infinity;
  } else {
    return false;
  }
  node.kind = YamlKind::real;
  return true;
}

}  // namespace

Place place_of(const YamlMark& mark) {
  Place place;
  if (!mark.text) return place;
  place.source = mark.text->name;
  place.line = mark.line;
  place.column = mark.column;
  const auto index = static_cast<std::size_t>(mark.line - 1);
  const auto& lines = mark.text->lines;
  if (mark.line >= 1 && index < lines.size() && lines[index].size() <= max_shown_line)
    place.text = lines[index];
  return place;
}

Place value_place(const YamlEntry& entry) {
  const bool has_own = entry.value->mark.text != nullptr && !entry.value->is_null();
  return place_of(has_own ? entry.value->mark : entry.mark);
}

const YamlEntry* YamlNode::find(std::string_view key) const {
  for (const YamlEntry& entry : entries)
    if (entry.key == key) return &entry;
  return nullptr;
}

std::string describe(const YamlNode& node) {
  constexpr std::size_t longest = 60;
  std::string shown = node.text.substr(0, longest);
  if (node.text.size() > longest) shown += "...";
  switch (node.kind) {
    case YamlKind::null:
      return "null";
    case YamlKind::boolean:
      return fmt::format("the boolean {}", shown);
    case YamlKind::integer:
      return fmt::format("the integer {}", shown);
    case YamlKind::real:
      return fmt::format("the number {}", shown);
    case YamlKind::string:
      return fmt::format("the string '{}'", shown);
    case YamlKind::sequence:
      return "a list";
    case YamlKind::mapping:
      return "a mapping";
  }
  return "a value";
}

YamlNode resolve_plain_scalar(std::string text) {
  YamlNode node;
  node.text = std::move(text);
  if (node.text.empty() || is_among(node.text, {"null", "Null", "NULL", "~"})) return node;
  if (is_among(node.text, {"true", "True", "TRUE", "false", "False", "FALSE"})) {
    node.kind = YamlKind::boolean;
    node.boolean = node.text[0] == 't' || node.text[0] == 'T';
  } else if (looks_decimal(node.text)) {
    node.kind = YamlKind::integer;
    node.integer = to_integer<std::int64_t>(node.text, 10);
    node.real = to_double(node.text);
  } else if (looks_real(node.text)) {
    node.kind = YamlKind::real;
    node.real = to_double(node.text);
  } else if (!resolve_based(node) && !resolve_special_real(node)) {
    node.kind = YamlKind::string;
  }
  return node;
}

}  // namespace train
