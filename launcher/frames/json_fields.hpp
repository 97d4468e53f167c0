// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

// Readers for fields of JSON from the other side: no input is trusted. They throw `Malformed`,
// which `decode_message` and `read_document` catch.

/// What is wrong with the other side's JSON.
struct Malformed {
  std::string what;
};

/// Bytes as JSON. Arguments and values may be any bytes, but JSON strings are Unicode: other bytes,
/// and text that contains NUL, are sent as `{"hex": "..."}`.
nlohmann::json from_bytes(std::string_view bytes);
std::string to_bytes(const nlohmann::json& value);
/// How many bytes a text takes as JSON.
std::size_t json_size(std::string_view text);
/// Returns the text if it takes at most `most` bytes as JSON; otherwise as much of its beginning
/// and end as fits, with " ... " between them. Characters are not split.
std::string cut_to_json(std::string text, std::size_t most);

const nlohmann::json& field(const nlohmann::json& object, const char* name);
const nlohmann::json& array_field(const nlohmann::json& object, const char* name);
std::string text_field(const nlohmann::json& object, const char* name);
/// A text of at most `most` bytes.
std::string text_field(const nlohmann::json& object, const char* name, std::size_t most);
/// A list of at most `most` values.
const nlohmann::json& array_field(const nlohmann::json& object, const char* name, std::size_t most);
bool bool_field(const nlohmann::json& object, const char* name);
std::int64_t number_field(const nlohmann::json& object, const char* name, std::int64_t lowest = 0,
                          std::int64_t highest = INT64_MAX);
int int_field(const nlohmann::json& object, const char* name, int lowest = 0,
              int highest = INT32_MAX);
/// A list of at most `most` numbers.
std::vector<int> int_list_field(const nlohmann::json& object, const char* name, int lowest,
                                int highest, std::size_t most);
/// The value whose name (`to_string`) is in the field; throws Malformed with `what` if there is
/// none.
template <class Enum, std::size_t count>
Enum enum_field(const nlohmann::json& object, const char* name, const Enum (&all)[count],
                const char* what) {
  const std::string text = text_field(object, name);
  for (const Enum one : all)
    if (text == to_string(one)) return one;
  throw Malformed{what};
}
Instant instant_field(const nlohmann::json& object, const char* name);

/// Whether lists and objects of this JSON are nested deeper than that. To be asked before it is
/// parsed: a hostile text of brackets alone becomes a tree of many times its size.
bool nests_deeper(std::string_view text, std::size_t deepest);

/// Parses a text of at most `longest` bytes and calls `read` with the document. Class `host`, with
/// `refused` and the reason, if it is not JSON, if it is nested deeper than 64, or if `read` finds
/// it malformed.
Result<void> read_document(std::string_view text, std::size_t longest, std::string_view refused,
                           const std::function<void(const nlohmann::json&)>& read);
/// The same, and returns the value that `read` returns.
template <class Value, class Read>
Result<Value> decode_document(std::string_view text, std::size_t longest, std::string_view refused,
                              Read read) {
  Value value;
  const auto done = read_document(text, longest, refused,
                                  [&](const nlohmann::json& document) { value = read(document); });
  if (!done) return tl::make_unexpected(done.error());
  return value;
}

}  // namespace train
