// SPDX-License-Identifier: Apache-2.0
#include "config_schema/yaml/yaml_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config_schema/text/terminal_text.hpp"

namespace train {

namespace {

constexpr std::size_t widest_list = 80;
constexpr std::size_t widest_before_origin = 44;

// Whether YAML reads this text as a string without quotes, in any position.
bool is_plain_string(std::string_view text) {
  constexpr std::string_view inside =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+@%=~$ ";
  constexpr std::string_view first =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./$";
  if (text.empty() || first.find(text.front()) == first.npos || text.back() == ' ') return false;
  if (text.find_first_not_of(inside) != text.npos) return false;
  // Other YAML readers have more words for true and false, and other number formats.
  const bool is_word_of_others = text == "y" || text == "n" || text == "yes" || text == "no" ||
                                 text == "on" || text == "off" || text == "Yes" || text == "No" ||
                                 text == "On" || text == "Off";
  const bool may_be_a_number =
      text.find_first_not_of("0123456789abcdefABCDEFxXoO_.:+-") == text.npos &&
      text.find_first_of("0123456789") != text.npos;
  const bool ends_documents = text.starts_with("...");
  return !is_word_of_others && !may_be_a_number && !ends_documents &&
         resolve_plain_scalar(std::string(text)).kind == YamlKind::string;
}

std::string string_text(const std::string& text) {
  return is_plain_string(text) ? text : json_quoted(text);
}

std::string scalar_text(const YamlNode& node) {
  if (node.is_null()) return "null";
  return node.kind == YamlKind::string ? string_text(node.text) : node.text;
}

// "{}", "[]", "[a, b]"; empty if the value needs lines of its own.
std::string inline_text(const YamlNode& node) {
  if (node.is_scalar()) return scalar_text(node);
  if (node.kind == YamlKind::mapping) return node.entries.empty() ? "{}" : "";
  std::string text = "[";
  for (const YamlNodePtr& item : node.items) {
    if (!item->is_scalar()) return {};
    if (text.size() > 1) text += ", ";
    text += scalar_text(*item);
    if (text.size() > widest_list) return {};
  }
  return text + "]";
}

std::string origin_of(const YamlMark& mark) {
  if (!mark.text) return {};
  const bool has_lines = !mark.text->is_flag && mark.line > 0 && !mark.text->lines.empty();
  return has_lines ? fmt::format("{}:{}", mark.text->name, mark.line) : mark.text->name;
}

class Writer {
 public:
  explicit Writer(YamlComments comments) : comments_(comments) {}

  void write(const YamlNode& node, std::size_t indent) {
    if (const std::string text = inline_text(node); !text.empty())
      line(indent, text, node.mark);
    else if (node.kind == YamlKind::mapping)
      write_entries(node, indent, indent);
    else
      write_items(node, indent, indent);
  }

  std::string take() {
    std::string text;
    std::size_t widest = 0;
    for (const Line& each : lines_)
      if (!each.origin.empty())
        widest = std::max(widest, std::min(each.text.size(), widest_before_origin));
    for (const Line& each : lines_) {
      text += each.text;
      if (comments_ == YamlComments::origins && !each.origin.empty())
        text +=
            std::string(widest - std::min(each.text.size(), widest), ' ') + "  # " + each.origin;
      text += '\n';
    }
    return text;
  }

 private:
  struct Line {
    std::string text;
    std::string origin;
  };

  void line(std::size_t indent, const std::string& text, const YamlMark& mark) {
    lines_.push_back({std::string(indent, ' ') + text, origin_of(mark)});
  }

  // `first` is the existing indentation of the first line, after a dash.
  void write_entries(const YamlNode& mapping, std::size_t indent, std::size_t first) {
    for (const YamlEntry& entry : mapping.entries) {
      const std::string begin = take_prefix(indent, first) + string_text(entry.key) + ":";
      first = indent;
      const YamlNode& value = *entry.value;
      if (const std::string text = inline_text(value); !text.empty()) {
        line(0, fmt::format("{} {}", begin, text), value.mark);
        continue;
      }
      line(0, begin, {});
      value.kind == YamlKind::mapping ? write_entries(value, indent + 2, indent + 2)
                                      : write_items(value, indent + 2, indent + 2);
    }
  }

  void write_items(const YamlNode& list, std::size_t indent, std::size_t first) {
    for (const YamlNodePtr& item : list.items) {
      const std::string begin = take_prefix(indent, first) + "-";
      first = indent;
      if (const std::string text = inline_text(*item); !text.empty()) {
        line(0, fmt::format("{} {}", begin, text), item->mark);
        continue;
      }
      prefix_ = begin + " ";
      item->kind == YamlKind::mapping ? write_entries(*item, indent + 2, 0)
                                      : write_items(*item, indent + 2, 0);
    }
  }

  // The prefix before the first entry of an item, or the indentation.
  std::string take_prefix(std::size_t indent, std::size_t first) {
    if (first == indent) return std::string(indent, ' ');
    std::string prefix;
    std::swap(prefix, prefix_);
    return prefix;
  }

  YamlComments comments_;
  std::vector<Line> lines_;
  std::string prefix_;
};

// Integers beyond 64 bits are legal JSON, so their digits are passed on; JSON has no plus sign and
// no leading zeros.
std::string integer_text(const YamlNode& node) {
  if (node.integer) return fmt::format("{}", *node.integer);
  if (std::isinf(node.real) && node.text.find_first_of("ox") != node.text.npos) return "null";
  const bool is_negative = node.text.front() == '-';
  const std::size_t first = node.text.find_first_not_of("+-0");
  return (is_negative ? "-" : "") + node.text.substr(first);
}

void append(std::string& json, const YamlNode& node);

void append_items(std::string& json, const YamlNode& node) {
  json += '[';
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    if (i > 0) json += ", ";
    append(json, *node.items[i]);
  }
  json += ']';
}

void append_entries(std::string& json, const YamlNode& node) {
  json += '{';
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    if (i > 0) json += ", ";
    json += json_quoted(node.entries[i].key);
    json += ": ";
    append(json, *node.entries[i].value);
  }
  json += '}';
}

void append(std::string& json, const YamlNode& node) {
  switch (node.kind) {
    case YamlKind::null:
      json += "null";
      return;
    case YamlKind::boolean:
      json += node.boolean ? "true" : "false";
      return;
    case YamlKind::integer:
      json += integer_text(node);
      return;
    case YamlKind::real:
      json += json_real(node.real);
      return;
    case YamlKind::string:
      json += json_quoted(node.text);
      return;
    case YamlKind::sequence:
      append_items(json, node);
      return;
    case YamlKind::mapping:
      append_entries(json, node);
      return;
  }
}

}  // namespace

std::string yaml_text(const YamlNode& root, YamlComments comments) {
  Writer writer(comments);
  writer.write(root, 0);
  return writer.take();
}

std::string json_real(double value) {
  if (!std::isfinite(value)) return "null";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

std::string json_text(const YamlNode& node) {
  std::string json;
  append(json, node);
  return json;
}

}  // namespace train
