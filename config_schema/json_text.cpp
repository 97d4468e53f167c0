// SPDX-License-Identifier: Apache-2.0
#include "config_schema/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "config_schema/terminal_text.hpp"
#include "config_schema/text.hpp"

namespace train {

namespace {

// Digits beyond 64 bits are legal JSON, so they are passed on as they are; JSON has no plus sign
// and no leading zeros.
std::string integer_text(const YamlNode& node) {
  if (node.integer) return fmt::format("{}", *node.integer);
  if (std::isinf(node.real) && node.text.find_first_of("ox") != node.text.npos) return "null";
  const bool is_negative = node.text.front() == '-';
  const std::size_t first = node.text.find_first_not_of("+-0");
  return (is_negative ? "-" : "") + node.text.substr(first);
}

std::string real_text(double value) {
  if (!std::isfinite(value)) return "null";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
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
      json += real_text(node.real);
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

std::string json_quoted(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        json += "\\\"";
        break;
      case '\\':
        json += "\\\\";
        break;
      case '\n':
        json += "\\n";
        break;
      case '\r':
        json += "\\r";
        break;
      case '\t':
        json += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20)
          json += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        else
          json += c;
    }
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
    // What else stops us is a line end between values, or a byte that is no text.
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

std::string json_text(const YamlNode& node) {
  std::string json;
  append(json, node);
  return json;
}

}  // namespace train
