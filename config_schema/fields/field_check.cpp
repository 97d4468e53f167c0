// SPDX-License-Identifier: Apache-2.0
#include "config_schema/fields/field_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "config_schema/fields/amounts.hpp"
#include "config_schema/text/duration.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

using enum FieldType;

bool has_range(const Field& field) {
  return field.minimum != no_minimum || field.maximum != no_limit;
}

std::string range_text(const Field& field) {
  if (!has_range(field)) return {};
  if (field.minimum == no_minimum) return fmt::format(" of at most {}", field.maximum);
  if (field.maximum != no_limit)
    return field.excludes_minimum
               ? fmt::format(" above {}, at most {}", field.minimum, field.maximum)
               : fmt::format(" from {} to {}", field.minimum, field.maximum);
  return field.excludes_minimum ? fmt::format(" above {}", field.minimum)
                                : fmt::format(" of at least {}", field.minimum);
}

// For limits in seconds.
std::string duration_range_text(const Field& field) {
  using std::chrono::seconds;
  return has_range(field)
             ? fmt::format(", 0 or from {} to {}", duration_text(seconds(field.minimum)),
                           duration_text(seconds(field.maximum)))
             : "";
}

std::string pattern_text(FieldPattern pattern) {
  switch (pattern) {
    case FieldPattern::none:
      return "a string";
    case FieldPattern::absolute_path:
      return "an absolute path";
    case FieldPattern::memory_size:
      return "a size such as 4g";
    case FieldPattern::without_parent:
      return "a path without '..'";
    case FieldPattern::not_dot:
      return "a path other than '.'";
    case FieldPattern::device:
      return "HOST_PATH:CONTAINER_PATH[:MODE]";
  }
  return "a string";
}

std::string string_text(const Field& field) {
  if (field.choices.empty()) return pattern_text(field.pattern);
  auto words = choice_words(field.choices);
  // Also lists later search methods: they are known, and `plan` accepts them.
  if (field.path == "searcher.name")
    for (std::string& word : choice_words(field.later_choices)) words.push_back(std::move(word));
  return words.size() == 1 ? fmt::format("'{}'", words.front())
                           : "one of " + join_words(words, "or");
}

bool has_one_type(const YamlNode& node, FieldType type) {
  switch (type) {
    case string:
      return node.kind == YamlKind::string;
    case boolean:
      return node.kind == YamlKind::boolean;
    case integer:
      return node.kind == YamlKind::integer;
    case number:
      return node.is_number();
    case bytes:
      return read_bytes(node).has_value();
    case duration:
      return read_duration(node).has_value();
    case list:
    case strings:
      return node.kind == YamlKind::sequence;
    case mapping:
    case open:
      return node.kind == YamlKind::mapping;
    case any:
      return true;
  }
  return false;
}

constexpr FieldType every_type[] = {integer, number,  string,  boolean, bytes, duration,
                                    list,    strings, mapping, open,    any};

std::string type_text(const Field& field, FieldType type) {
  switch (type) {
    case string:
      return string_text(field);
    case boolean:
      return "true or false";
    case integer:
      return "a whole number" + range_text(field);
    case number:
      return "a number" + range_text(field);
    case bytes:
      return "a number of bytes such as 16GiB";
    case duration:
      return "a duration such as 10s (a bare number is seconds)" + duration_range_text(field);
    case list:
      return "a list";
    case strings:
      return "a list of strings";
    case mapping:
    case open:
      return "a mapping";
    case any:
      return "a value";
  }
  return "a value";
}

std::string without_underscores(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
  return text;
}

// Whether this is a number of YAML 1.1: 3_200.
bool has_underscores(const std::string& text) {
  return text.find('_') != text.npos && resolve_plain_scalar(without_underscores(text)).is_number();
}

// What to write instead of a value of the wrong type, if that is obvious.
std::string type_hint(const YamlNode& node, const Field& field) {
  const bool wants_number = has(field.types, integer | number);
  if (field.has_one_key && node.kind == YamlKind::integer)
    return fmt::format("write {{batches: {}}}", node.text);
  if (has(field.types, string) && node.is_scalar())
    return fmt::format("write \"{}\" in quotes", node.text);
  if (has(field.types, integer) && node.kind == YamlKind::real &&
      node.real == std::floor(node.real) && std::abs(node.real) < 1e15)
    return fmt::format("write {}", static_cast<std::int64_t>(node.real));
  if (node.kind != YamlKind::string) return {};
  const YamlNode plain = resolve_plain_scalar(node.text);
  if (wants_number && plain.is_number()) return "remove the quotes";
  if (wants_number && has_underscores(node.text))
    return fmt::format("write {}: numbers have no underscores", without_underscores(node.text));
  const std::string lower = to_lower(node.text);
  if (has(field.types, boolean) && (lower == "yes" || lower == "on" || lower == "true"))
    return "write true";
  if (has(field.types, boolean) && (lower == "no" || lower == "off" || lower == "false"))
    return "write false";
  return {};
}

std::optional<ValueFault> find_number_fault(const YamlNode& node, const Field& field,
                                            const std::string& name) {
  const bool fits = has(field.types, number) || node.integer.has_value();
  const auto least = static_cast<double>(field.minimum);
  const bool is_low = field.minimum != no_minimum &&
                      !(field.excludes_minimum ? node.real > least : node.real >= least);
  const bool is_high = field.maximum != no_limit && node.real > static_cast<double>(field.maximum);
  if (fits && std::isfinite(node.real) && !is_low && !is_high) return std::nullopt;
  return ValueFault{
      {}, fmt::format("'{}' must be {}, not {}", name, expectation(field), node.text), {}};
}

std::optional<ValueFault> find_duration_fault(const YamlNode& node, const Field& field,
                                              const std::string& name) {
  const auto value = read_duration(node);
  const auto zero = std::chrono::milliseconds::zero();
  const bool fits = value == zero || (value >= std::chrono::seconds(field.minimum) &&
                                      value <= std::chrono::seconds(field.maximum));
  if (fits) return std::nullopt;
  return ValueFault{
      {}, fmt::format("'{}' must be {}, not {}", name, expectation(field), node.text), {}};
}

// From "a=x|b=y": y for b.
std::string_view replacement_of(std::string_view word, std::string_view gone) {
  if (gone.empty()) return {};
  for (const std::string_view entry : split(gone, '|')) {
    const std::size_t equals = entry.find('=');
    if (entry.substr(0, equals) == word) return entry.substr(equals + 1);
  }
  return {};
}

std::optional<ValueFault> find_choice_fault(const YamlNode& node, const Field& field,
                                            const std::string& name) {
  if (is_one_of(node.text, field.choices) || is_one_of(node.text, field.later_choices))
    return std::nullopt;
  if (const auto now = replacement_of(node.text, field.gone_choices); !now.empty())
    return ValueFault{
        {},
        fmt::format("'{}: {}' {}", name, node.text,
                    field.source == FieldSource::determined ? "is of an older version of Determined"
                                                            : "is Ray's, and not there in train"),
        std::string(now)};
  std::vector<std::string> known = choice_words(field.later_choices);
  for (std::string& word : choice_words(field.choices)) known.push_back(std::move(word));
  return ValueFault{{},
                    fmt::format("'{}' must be {}, not '{}'", name, expectation(field), node.text),
                    did_you_mean(node.text, known)};
}

bool has_parent_step(std::string_view path) {
  for (const std::string_view step : split(path, '/'))
    if (step == "..") return true;
  return false;
}

// [0-9]*.?[0-9]+ ?([kmgtp](i?b)?|b)?, in any case
bool is_memory_size(std::string_view text) {
  std::size_t digits = text.find_first_not_of("0123456789");
  if (digits != text.npos && text[digits] == '.') {
    const std::size_t fraction = digits + 1;
    digits = text.find_first_not_of("0123456789", fraction);
    if (digits == fraction || fraction == text.size()) return false;
  }
  if (digits == 0) return false;
  std::string unit = to_lower(text.substr(std::min(digits, text.size())));
  if (!unit.empty() && unit.front() == ' ') unit.erase(0, 1);
  if (unit.empty() || unit == "b") return true;
  constexpr std::string_view scales = "kmgtp";
  const std::string_view rest = std::string_view(unit).substr(1);
  return scales.find(unit.front()) != scales.npos && (rest.empty() || rest == "b" || rest == "ib");
}

bool looks_like(std::string_view text, FieldPattern pattern) {
  switch (pattern) {
    case FieldPattern::none:
      return true;
    case FieldPattern::absolute_path:
      return !text.empty() && text.front() == '/';
    case FieldPattern::memory_size:
      return is_memory_size(text);
    case FieldPattern::without_parent:
      return !has_parent_step(text);
    case FieldPattern::not_dot:
      return text != ".";
    case FieldPattern::device:
      return std::count(text.begin(), text.end(), ':') == 1 ||
             std::count(text.begin(), text.end(), ':') == 2;
  }
  return true;
}

std::optional<ValueFault> find_string_fault(const YamlNode& node, const Field& field,
                                            const std::string& name) {
  if (!field.choices.empty()) return find_choice_fault(node, field, name);
  if (looks_like(node.text, field.pattern)) return std::nullopt;
  return ValueFault{
      {}, fmt::format("'{}' must be {}, not '{}'", name, expectation(field), node.text), {}};
}

std::optional<ValueFault> find_item_fault(const YamlNode& node, const Field& field,
                                          const std::string& name) {
  for (const YamlNodePtr& item : node.items) {
    if (item->kind == YamlKind::string) continue;
    return ValueFault{
        item->mark,
        fmt::format("'{}' must be {}, not {} in it", name, expectation(field), describe(*item)),
        item->is_scalar() ? fmt::format("write \"{}\" in quotes", item->text) : std::string()};
  }
  return std::nullopt;
}

// The fault of a value; its message may quote the value.
std::optional<ValueFault> find_fault_of_any(const YamlNode& node, const Field& field,
                                            const std::string& name) {
  if (!has_type(node, field))
    return ValueFault{
        {},
        fmt::format("'{}' must be {}, not {}", name, expectation(field), describe(node)),
        type_hint(node, field)};
  const bool is_counted = has(field.types, integer | number);
  if (node.is_number() && is_counted) return find_number_fault(node, field, name);
  // A value of a field with choices may be a misspelled choice.
  const bool is_word = has(field.types, string) && node.kind == YamlKind::string &&
                       (is_one_of(node.text, field.choices) || !read_duration(node));
  if (has(field.types, duration) && has_range(field) && !is_word)
    return find_duration_fault(node, field, name);
  if (node.kind == YamlKind::string && has(field.types, string))
    return find_string_fault(node, field, name);
  if (node.kind == YamlKind::sequence && has(field.types, strings))
    return find_item_fault(node, field, name);
  return std::nullopt;
}

}  // namespace

std::string expectation(const Field& field) {
  std::vector<std::string> parts;
  for (const FieldType type : every_type)
    if (has(field.types, type)) parts.push_back(type_text(field, type));
  const bool has_alternatives =
      parts.size() == 2 && parts.front().find(" or ") != std::string::npos;
  return has_alternatives ? fmt::format("{}, or {}", parts.front(), parts.back())
                          : join_words(parts, "or");
}

bool has_type(const YamlNode& node, const Field& field) {
  for (const FieldType type : every_type)
    if (has(field.types, type) && has_one_type(node, type)) return true;
  return false;
}

std::optional<ValueFault> find_fault(const YamlNode& node, const Field& field,
                                     const std::string& name) {
  auto fault = find_fault_of_any(node, field, name);
  if (!fault || !field.is_secret) return fault;
  // Secret keys get a message of their own, because others quote the value.
  fault->message = fmt::format("'{}' must be {}", name, expectation(field));
  fault->hint = node.is_scalar() ? "write it in quotes" : "";
  return fault;
}

std::string_view regular_expression(FieldPattern pattern) {
  switch (pattern) {
    case FieldPattern::none:
      return "";
    case FieldPattern::absolute_path:
      return "^/";
    case FieldPattern::memory_size:
      return "^([0-9]*[.])?[0-9]+ ?(([kmgtpKMGTP]([iI]?[bB])?)|[bB])?$";
    case FieldPattern::without_parent:
      return "^(?!(.*/)?\\.\\.(/|$))";
    case FieldPattern::not_dot:
      return "^(?!\\.$)";
    case FieldPattern::device:
      return "^[^:]*:[^:]*(:[^:]*)?$";
  }
  return "";
}

}  // namespace train
