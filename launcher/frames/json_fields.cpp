// SPDX-License-Identifier: Apache-2.0
#include "launcher/frames/json_fields.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "config_schema/text/text.hpp"

namespace train {

using nlohmann::json;

namespace {

constexpr std::size_t deepest_document = 64;

bool is_text(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0 || text.front() == '\0')
      return false;  // NUL is kept out of JSON strings as well
    text.remove_prefix(length);
  }
  return true;
}

std::string begin_and_end(std::string_view text, std::size_t kept) {
  std::size_t begin = kept / 2;
  std::size_t end = text.size() - (kept - begin);
  while (begin > 0 && is_continuation(text[begin])) --begin;
  while (end < text.size() && is_continuation(text[end])) ++end;
  return fmt::format("{} ... {}", text.substr(0, begin), text.substr(end));
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  throw Malformed{"bad hex digit"};
}

}  // namespace

json from_bytes(std::string_view bytes) {
  if (is_text(bytes)) return json(std::string(bytes));
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char byte : bytes)
    fmt::format_to(std::back_inserter(hex), "{:02x}", static_cast<unsigned char>(byte));
  return json{{"hex", hex}};
}

std::string to_bytes(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object() || !value.contains("hex") || !value["hex"].is_string())
    throw Malformed{"expected a string"};
  const auto& hex = value["hex"].get_ref<const std::string&>();
  if (hex.size() % 2 != 0) throw Malformed{"odd number of hex digits"};
  std::string bytes;
  bytes.reserve(hex.size() / 2);
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(hex_digit(hex[i]) << 4 | hex_digit(hex[i + 1]));
  return bytes;
}

std::size_t json_size(std::string_view text) { return from_bytes(text).dump().size(); }

std::string cut_to_json(std::string text, std::size_t most) {
  constexpr std::size_t quotes = 2;
  // JSON needs at most six bytes for one.
  if (text.size() * 6 + quotes <= most || json_size(text) <= most) return text;
  std::size_t kept = std::min(text.size(), most);
  std::string shorter = begin_and_end(text, kept);
  while (json_size(shorter) > most) {
    kept = kept * 7 / 8;
    shorter = begin_and_end(text, kept);
  }
  return shorter;
}

const json& field(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) throw Malformed{fmt::format("field '{}' is missing", name)};
  return *found;
}

std::string text_field(const json& object, const char* name) {
  return to_bytes(field(object, name));
}

std::string text_field(const json& object, const char* name, std::size_t most) {
  std::string text = text_field(object, name);
  if (text.size() > most) throw Malformed{fmt::format("field '{}' is too long", name)};
  return text;
}

bool bool_field(const json& object, const char* name) {
  const json& value = field(object, name);
  if (!value.is_boolean()) throw Malformed{fmt::format("field '{}' is no boolean", name)};
  return value.get<bool>();
}

namespace {

std::int64_t number_in(const json& value, const char* name, std::int64_t lowest,
                       std::int64_t highest) {
  const bool too_big = value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX;
  if (!value.is_number_integer() || too_big)
    throw Malformed{fmt::format("field '{}' is no integer", name)};
  const auto number = value.get<std::int64_t>();
  if (number < lowest || number > highest)
    throw Malformed{fmt::format("field '{}' is out of range: {}", name, number)};
  return number;
}

}  // namespace

std::int64_t number_field(const json& object, const char* name, std::int64_t lowest,
                          std::int64_t highest) {
  return number_in(field(object, name), name, lowest, highest);
}

int int_field(const json& object, const char* name, int lowest, int highest) {
  return static_cast<int>(number_field(object, name, lowest, highest));
}

std::vector<int> int_list_field(const json& object, const char* name, int lowest, int highest,
                                std::size_t most) {
  const json& list = array_field(object, name, most);
  std::vector<int> numbers;
  numbers.reserve(list.size());
  for (const json& value : list)
    numbers.push_back(static_cast<int>(number_in(value, name, lowest, highest)));
  return numbers;
}

// Large enough (73 years of uptime) for every real clock, and small enough that differences and
// sums of two instants never overflow.
Instant instant_field(const json& object, const char* name) {
  return Instant(number_field(object, name, 0, std::int64_t{1} << 61));
}

const json& array_field(const json& object, const char* name) {
  const json& value = field(object, name);
  if (!value.is_array()) throw Malformed{fmt::format("field '{}' is no list", name)};
  return value;
}

const json& array_field(const json& object, const char* name, std::size_t most) {
  const json& list = array_field(object, name);
  if (list.size() > most) throw Malformed{fmt::format("field '{}' is too long", name)};
  return list;
}

bool nests_deeper(std::string_view text, std::size_t deepest) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > deepest) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

Result<void> read_document(std::string_view text, std::size_t longest, std::string_view refused,
                           const std::function<void(const json&)>& read) {
  const auto refuse = [&](const std::string& why) {
    return fail(ErrorClass::host, fmt::format("{}: {}", refused, why));
  };
  if (text.size() > longest) return refuse("it is too long");
  if (nests_deeper(text, deepest_document)) return refuse("it is nested too deep");
  try {
    read(json::parse(text));
  } catch (const Malformed& malformed) {
    return refuse(malformed.what);
  } catch (const json::exception&) {
    return refuse("it is no JSON");  // its own message would quote the whole text
  }
  return {};
}

}  // namespace train
