// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config_schema/fields/field_table.hpp"
#include "config_schema/yaml/yaml_node.hpp"

namespace train {

/// The values that a field accepts, for messages: "a whole number of at least 1", "one of a, b or
/// c".
std::string expectation(const Field& field);

/// Whether a value has one of the field's types; items of lists are not checked.
bool has_type(const YamlNode& node, const Field& field);

/// A fault of a value, and what to write instead.
struct ValueFault {
  YamlMark mark;  ///< without a text: the value as a whole
  std::string message;
  std::string hint;
};

/// Why a field does not accept a value, or nothing. `name` is the key's name in messages. Choices
/// that are planned for later are no fault. The value of a secret key is not quoted.
std::optional<ValueFault> find_fault(const YamlNode& node, const Field& field,
                                     const std::string& name);

/// A pattern as an ECMA 262 regular expression, for JSON Schema; empty for `none`.
std::string_view regular_expression(FieldPattern pattern);

}  // namespace train
