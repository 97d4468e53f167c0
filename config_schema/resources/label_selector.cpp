// SPDX-License-Identifier: Apache-2.0
#include "config_schema/resources/label_selector.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/text/text.hpp"

namespace train {

namespace {

using Kind = LabelCondition::Kind;

constexpr const char* forms = "it is value, !value, in(a,b), !in(a,b), exists() or !exists()";

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// 1 to 63 letters, digits, dots, dashes and underscores, with a letter or digit at both ends.
bool is_label_word(std::string_view word) {
  constexpr std::size_t longest = 63;
  if (word.empty() || word.size() > longest) return false;
  if (!is_alphanumeric(word.front()) || !is_alphanumeric(word.back())) return false;
  return std::all_of(word.begin(), word.end(),
                     [](char c) { return is_alphanumeric(c) || c == '.' || c == '-' || c == '_'; });
}

// The parts between commas outside of parentheses.
std::vector<std::string_view> expressions_of(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : 0;
    depth -= text[i] == ')' ? 1 : 0;
    if (text[i] != ',' || depth > 0) continue;
    parts.push_back(trim(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  parts.push_back(trim(text.substr(begin)));
  return parts;
}

tl::expected<LabelCondition, std::string> read_expression(const std::string& label,
                                                          std::string_view text) {
  const bool is_negated = text.starts_with('!');
  const std::string_view rest = is_negated ? text.substr(1) : text;
  if (rest == "exists()")
    return LabelCondition{.label = label, .kind = is_negated ? Kind::absent : Kind::exists};
  LabelCondition condition{.label = label, .kind = is_negated ? Kind::none_of : Kind::one_of};
  const bool is_list = rest.starts_with("in(");
  if (is_list && !rest.ends_with(')'))
    return tl::make_unexpected(
        fmt::format("'{}' has no ')'; between braces YAML ends a value at a comma: write it in "
                    "quotes",
                    text));
  const std::string_view inside = is_list ? rest.substr(3, rest.size() - 4) : rest;
  for (const std::string_view part : is_list ? split(inside, ',') : std::vector{inside}) {
    const std::string_view value = trim(part);
    const bool is_empty_value = value.empty() && !is_list && !is_negated;
    if (value.empty() && !is_empty_value)
      return tl::make_unexpected(fmt::format("a value is missing in '{}'; {}", text, forms));
    if (!is_label_word(value) && !is_empty_value)
      return tl::make_unexpected(fmt::format("'{}' is no value of a label; {}", value, forms));
    condition.values.emplace_back(value);
  }
  return condition;
}

bool holds(const LabelCondition& condition, const std::map<std::string, std::string>& labels) {
  const auto label = labels.find(condition.label);
  const bool is_there = label != labels.end();
  const bool has_one = is_there && std::find(condition.values.begin(), condition.values.end(),
                                             label->second) != condition.values.end();
  switch (condition.kind) {
    case Kind::one_of:
      return has_one;
    case Kind::none_of:
      return !has_one;
    case Kind::exists:
      return is_there;
    case Kind::absent:
      break;
  }
  return !is_there;
}

std::string to_string(const LabelCondition& condition) {
  if (condition.kind == Kind::exists) return condition.label;
  if (condition.kind == Kind::absent) return "no " + condition.label;
  const char* sign = condition.kind == Kind::none_of ? "!=" : "=";
  if (condition.values.size() == 1)
    return fmt::format("{}{}{}", condition.label, sign, condition.values.front());
  return fmt::format("{}{}({})", condition.label, sign, fmt::join(condition.values, "|"));
}

}  // namespace

tl::expected<LabelSelector, std::string> read_label_conditions(const std::string& label,
                                                               std::string_view text) {
  LabelSelector selector;
  const auto expressions = expressions_of(trim(text));
  for (const std::string_view expression : expressions) {
    if (expression.empty() && expressions.size() > 1)
      return tl::make_unexpected(fmt::format("there is nothing between two commas; {}", forms));
    auto condition = read_expression(label, expression);
    if (!condition) return tl::make_unexpected(std::move(condition.error()));
    selector.push_back(std::move(*condition));
  }
  return selector;
}

std::string label_name_trouble(std::string_view name) {
  constexpr std::size_t longest_prefix = 253;
  const std::size_t slash = name.rfind('/');
  const bool has_prefix = slash != name.npos;
  const std::string_view last = has_prefix ? name.substr(slash + 1) : name;
  if (!is_label_word(last))
    return fmt::format("'{}' is no name of a label: 1 to 63 letters, digits, '.', '-' and '_'",
                       name);
  if (!has_prefix) return {};
  const std::string_view prefix = name.substr(0, slash);
  bool is_dotted = prefix.size() <= longest_prefix;
  for (const std::string_view part : split(prefix, '.')) is_dotted &= is_label_word(part);
  return is_dotted ? std::string() : fmt::format("'{}' is no prefix of a label's name", prefix);
}

bool matches(const LabelSelector& selector, const std::map<std::string, std::string>& labels) {
  return std::all_of(selector.begin(), selector.end(),
                     [&](const LabelCondition& condition) { return holds(condition, labels); });
}

std::string to_string(const LabelSelector& selector) {
  std::string text;
  for (const LabelCondition& condition : selector)
    text += (text.empty() ? "" : ", ") + to_string(condition);
  return text;
}

}  // namespace train
