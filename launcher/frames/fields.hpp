// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "launcher/frames/json_fields.hpp"

namespace train {

// A struct that travels as JSON is described once, by a function that names its fields with their
// limits. It is called with a FieldWriter to write the struct, and with a FieldReader to read it:
//
//   void fields(auto& f, Described<Point> auto& point) {
//     f.number("x", point.x, 0, 100);
//   }
//
// The function must be in namespace `train`, and not in an unnamed namespace: it is found by its
// arguments. What a reader gets is not trusted: it throws Malformed.

/// `T` or `const T`.
template <class T, class Struct>
concept Described = std::same_as<std::remove_const_t<T>, Struct>;

inline constexpr std::size_t no_limit = SIZE_MAX;

/// Writes the fields of a struct into a JSON object.
class FieldWriter {
 public:
  static constexpr bool reads = false;

  nlohmann::json take() { return std::move(object_); }

  /// A text that may have any bytes.
  void text(const char* name, const std::string& text, std::size_t /*most*/ = no_limit) {
    object_[name] = from_bytes(text);
  }
  void text(const char* name, const std::optional<std::string>& text) {
    if (text) this->text(name, *text);
  }
  /// The same, missing if it is empty.
  void optional_text(const char* name, const std::string& text, std::size_t most = no_limit) {
    if (!text.empty()) this->text(name, text, most);
  }
  /// The same for words to people: a longer text is cut.
  void words(const char* name, const std::string& text, std::size_t most) {
    object_[name] = from_bytes(cut_to_json(text, most));
  }
  void flag(const char* name, const bool& flag) { object_[name] = flag; }
  void flag(const char* name, const std::optional<bool>& flag) {
    if (flag) object_[name] = *flag;
  }
  /// A flag for one of two values.
  template <class Value>
  void flag_for(const char* name, const Value& value, Value if_set, Value /*if_not*/) {
    object_[name] = value == if_set;
  }
  template <std::integral Number>
  void number(const char* name, const Number& number, std::int64_t /*lowest*/ = 0,
              std::int64_t /*highest*/ = 0) {
    object_[name] = number;
  }
  template <std::integral Number>
  void number(const char* name, const std::optional<Number>& number, std::int64_t /*lowest*/ = 0,
              std::int64_t /*highest*/ = 0) {
    if (number) object_[name] = *number;
  }
  template <class Rep, class Period>
  void duration(const char* name, const std::chrono::duration<Rep, Period>& duration,
                std::int64_t /*lowest*/ = 0, std::int64_t /*highest*/ = 0) {
    object_[name] = duration.count();
  }
  template <class Rep, class Period>
  void duration(const char* name, const std::optional<std::chrono::duration<Rep, Period>>& duration,
                std::int64_t /*lowest*/ = 0, std::int64_t /*highest*/ = 0) {
    if (duration) object_[name] = duration->count();
  }
  void instant(const char* name, const Instant& instant) { object_[name] = instant.count(); }
  /// An enumerator, by its `to_string`; `all`: those that may come.
  template <class Enum, std::size_t count>
  void choice(const char* name, const Enum& value, const Enum (&)[count], const char* /*what*/) {
    object_[name] = std::string(to_string(value));
  }
  template <class Enum, std::size_t count>
  void choice(const char* name, const std::optional<Enum>& value, const Enum (&all)[count],
              const char* what) {
    if (value) choice(name, *value, all, what);
  }
  /// An enumerator, by its number; `last`: the greatest one.
  template <class Enum>
  void number_of(const char* name, const Enum& value, Enum /*last*/) {
    object_[name] = static_cast<int>(value);
  }
  template <class Enum>
  void numbers_of(const char* name, const std::vector<Enum>& values, Enum /*last*/,
                  std::size_t /*most*/) {
    list_as(
        name, values, no_limit, [](Enum value) { return static_cast<int>(value); }, nullptr);
  }
  void numbers(const char* name, const std::vector<int>& numbers, int /*lowest*/, int /*highest*/,
               std::size_t /*most*/) {
    object_[name] = numbers;
  }
  void texts(const char* name, const std::vector<std::string>& texts,
             std::size_t /*most*/ = no_limit, std::size_t /*longest*/ = no_limit) {
    list_as(
        name, texts, no_limit, [](const std::string& text) { return from_bytes(text); }, nullptr);
  }
  /// The same for words to people: longer texts are cut, and further ones left out.
  void cut_texts(const char* name, const std::vector<std::string>& texts, std::size_t most,
                 std::size_t longest) {
    nlohmann::json& list = object_[name] = nlohmann::json::array();
    for (const std::string& text : texts)
      if (list.size() < most) list.push_back(from_bytes(cut_to_json(text, longest)));
  }
  template <class Struct>
  void object(const char* name, const Struct& value) {
    object_[name] = json_of_fields(value);
  }
  /// Missing if there is no value.
  template <class Struct>
  void object(const char* name, const std::optional<Struct>& value) {
    if (value) object_[name] = json_of_fields(*value);
  }
  /// Structs; at most `most` may come.
  template <class Struct>
  void list(const char* name, const std::vector<Struct>& values, std::size_t /*most*/ = no_limit) {
    cut_list(name, values, no_limit);
  }
  template <class Struct>
  void list(const char* name, const std::optional<std::vector<Struct>>& values,
            std::size_t most = no_limit) {
    if (values) list(name, *values, most);
  }
  /// The same; further ones are left out.
  template <class Struct>
  void cut_list(const char* name, const std::vector<Struct>& values, std::size_t most) {
    nlohmann::json& list = object_[name] = nlohmann::json::array();
    for (const Struct& value : values)
      if (list.size() < most) list.push_back(json_of_fields(value));
  }
  /// A value that is no object. `write` makes its JSON, `read` makes the value of that.
  template <class Value, class Write, class Read>
  void value_as(const char* name, const Value& value, Write write, const Read& /*read*/) {
    object_[name] = write(value);
  }
  template <class Value, class Write, class Read>
  void list_as(const char* name, const std::vector<Value>& values, std::size_t /*most*/,
               Write write, const Read& /*read*/) {
    nlohmann::json& list = object_[name] = nlohmann::json::array();
    for (const Value& value : values) list.push_back(write(value));
  }
  /// Fields in an object of their own. `describe` gets its writer or reader.
  template <class Describe>
  void group(const char* name, Describe describe) {
    FieldWriter group;
    describe(group);
    object_[name] = group.take();
  }
  /// A field that may be missing. `describe` is called if it is there: for a writer, if `is_there`.
  template <class Describe>
  void optional(const char* /*name*/, bool is_there, Describe describe) {
    if (is_there) describe();
  }
  /// For a reader: throws Malformed with `what` if it does not hold.
  template <class Holds>
  void check(const Holds& /*holds*/, const char* /*what*/) {}

  template <class Struct>
  static nlohmann::json json_of_fields(const Struct& value) {
    FieldWriter writer;
    fields(writer, value);
    return writer.take();
  }

 private:
  nlohmann::json object_ = nlohmann::json::object();
};

/// Reads the fields of a struct from a JSON object. The functions are those of FieldWriter.
class FieldReader {
 public:
  static constexpr bool reads = true;

  /// The object must outlive the reader.
  explicit FieldReader(const nlohmann::json& object) : object_(object) {
    if (!object.is_object()) throw Malformed{"no object where one is expected"};
  }

  void text(const char* name, std::string& text, std::size_t most = no_limit) {
    text = text_field(object_, name, most);
  }
  void text(const char* name, std::optional<std::string>& text) {
    if (has(name)) this->text(name, text.emplace());
  }
  void optional_text(const char* name, std::string& text, std::size_t most = no_limit) {
    if (has(name)) this->text(name, text, most);
  }
  void words(const char* name, std::string& words, std::size_t most) { text(name, words, most); }
  void flag(const char* name, bool& flag) { flag = bool_field(object_, name); }
  void flag(const char* name, std::optional<bool>& flag) {
    if (has(name)) flag = bool_field(object_, name);
  }
  template <class Value>
  void flag_for(const char* name, Value& value, Value if_set, Value if_not) {
    value = bool_field(object_, name) ? if_set : if_not;
  }
  template <std::integral Number>
  void number(const char* name, Number& number, std::int64_t lowest = 0,
              std::int64_t highest = highest_of<Number>) {
    number = static_cast<Number>(number_field(object_, name, lowest, highest));
  }
  template <std::integral Number>
  void number(const char* name, std::optional<Number>& number, std::int64_t lowest = 0,
              std::int64_t highest = highest_of<Number>) {
    if (has(name)) this->number(name, number.emplace(), lowest, highest);
  }
  template <class Rep, class Period>
  void duration(const char* name, std::chrono::duration<Rep, Period>& duration,
                std::int64_t lowest = 0, std::int64_t highest = INT64_MAX) {
    duration = std::chrono::duration<Rep, Period>(number_field(object_, name, lowest, highest));
  }
  template <class Rep, class Period>
  void duration(const char* name, std::optional<std::chrono::duration<Rep, Period>>& duration,
                std::int64_t lowest = 0, std::int64_t highest = INT64_MAX) {
    if (has(name)) this->duration(name, duration.emplace(), lowest, highest);
  }
  void instant(const char* name, Instant& instant) { instant = instant_field(object_, name); }
  template <class Enum, std::size_t count>
  void choice(const char* name, Enum& value, const Enum (&all)[count], const char* what) {
    value = enum_field(object_, name, all, what);
  }
  template <class Enum, std::size_t count>
  void choice(const char* name, std::optional<Enum>& value, const Enum (&all)[count],
              const char* what) {
    if (has(name)) choice(name, value.emplace(), all, what);
  }
  template <class Enum>
  void numbers_of(const char* name, std::vector<Enum>& values, Enum last, std::size_t most) {
    for (const int each : int_list_field(object_, name, 0, static_cast<int>(last), most))
      values.push_back(static_cast<Enum>(each));
  }
  template <class Enum>
  void number_of(const char* name, Enum& value, Enum last) {
    value = static_cast<Enum>(int_field(object_, name, 0, static_cast<int>(last)));
  }
  void numbers(const char* name, std::vector<int>& numbers, int lowest, int highest,
               std::size_t most) {
    numbers = int_list_field(object_, name, lowest, highest, most);
  }
  void texts(const char* name, std::vector<std::string>& texts, std::size_t most = no_limit,
             std::size_t longest = no_limit) {
    list_as(name, texts, most, nullptr, [&](const nlohmann::json& value) {
      std::string text = to_bytes(value);
      if (text.size() > longest) throw Malformed{std::string("too long a text in ") + name};
      return text;
    });
  }
  void cut_texts(const char* name, std::vector<std::string>& texts, std::size_t most,
                 std::size_t longest) {
    this->texts(name, texts, most, longest);
  }
  template <class Struct>
  void object(const char* name, Struct& value) {
    FieldReader reader(field(object_, name));
    fields(reader, value);
  }
  template <class Struct>
  void object(const char* name, std::optional<Struct>& value) {
    if (has(name)) object(name, value.emplace());
  }
  template <class Struct>
  void list(const char* name, std::vector<Struct>& values, std::size_t most = no_limit) {
    for (const nlohmann::json& each : array_field(object_, name, most)) {
      FieldReader reader(each);
      fields(reader, values.emplace_back());
    }
  }
  template <class Struct>
  void list(const char* name, std::optional<std::vector<Struct>>& values,
            std::size_t most = no_limit) {
    if (has(name)) list(name, values.emplace(), most);
  }
  template <class Struct>
  void cut_list(const char* name, std::vector<Struct>& values, std::size_t most) {
    list(name, values, most);
  }
  template <class Value, class Write, class Read>
  void value_as(const char* name, Value& value, const Write& /*write*/, Read read) {
    value = read(field(object_, name));
  }
  template <class Value, class Write, class Read>
  void list_as(const char* name, std::vector<Value>& values, std::size_t most,
               const Write& /*write*/, Read read) {
    for (const nlohmann::json& each : array_field(object_, name, most))
      values.push_back(read(each));
  }
  template <class Describe>
  void group(const char* name, Describe describe) {
    FieldReader group(field(object_, name));
    describe(group);
  }
  template <class Describe>
  void optional(const char* name, bool /*is_there*/, Describe describe) {
    if (has(name)) describe();
  }
  template <class Holds>
  void check(const Holds& holds, const char* what) {
    if (!holds()) throw Malformed{what};
  }

 private:
  template <class Number>
  static constexpr std::int64_t highest_of = sizeof(Number) < 8 ? INT32_MAX : INT64_MAX;

  bool has(const char* name) const { return object_.contains(name); }

  const nlohmann::json& object_;
};

template <class Struct>
nlohmann::json json_of_fields(const Struct& value) {
  return FieldWriter::json_of_fields(value);
}

/// Throws Malformed.
template <class Struct>
Struct struct_of_json(const nlohmann::json& value) {
  Struct made;
  FieldReader reader(value);
  fields(reader, made);
  return made;
}

/// The struct as one line of JSON, with its newline.
template <class Struct>
std::string line_of_fields(const Struct& value) {
  return json_of_fields(value).dump() + "\n";
}

/// The struct of such a line, or of another text of JSON; as `decode_document`.
template <class Struct>
Result<Struct> decode_fields(std::string_view text, std::size_t longest, std::string_view refused) {
  return decode_document<Struct>(text, longest, refused, struct_of_json<Struct>);
}

/// Limit of the texts of a problem, in JSON.
inline constexpr std::size_t longest_problem_text = 3u << 10;

/// A problem without its place.
void fields(auto& f, Described<Diagnostic> auto& problem) {
  f.words("message", problem.message, longest_problem_text);
  f.words("hint", problem.hint, longest_problem_text);
}

/// The name by which a struct of a variant is told from the others.
template <class Struct>
struct Named {
  const char* name;
};

/// The JSON of a variant; the field `key` has the name of its struct. `names`: a tuple of Named.
template <class Variant, class Names>
nlohmann::json json_of_variant(const Variant& variant, const char* key, const Names& names) {
  return std::visit(
      [&]<class Struct>(const Struct& value) {
        nlohmann::json object = json_of_fields(value);
        object[key] = std::get<Named<Struct>>(names).name;
        return object;
      },
      variant);
}

/// Throws Malformed.
template <class Variant, class Names>
Variant variant_of_json(const nlohmann::json& value, const char* key, const Names& names) {
  constexpr std::size_t longest_name_of_struct = 64;
  const std::string name = text_field(value, key, longest_name_of_struct);
  std::optional<Variant> made;
  const auto make = [&]<class Struct>(const Named<Struct>& named) {
    if (name == named.name) made.emplace(struct_of_json<Struct>(value));
  };
  std::apply([&](const auto&... each) { (make(each), ...); }, names);
  if (!made) throw Malformed{"unknown type"};
  return std::move(*made);
}

}  // namespace train
