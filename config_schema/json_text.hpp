// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "config_schema/yaml_node.hpp"

namespace train {

/// A YAML value as JSON on one line, keys in file order. Integers keep all their digits, reals stay
/// reals (`32.0`), both in the shortest form that reads back to the same number. NaN and
/// infinities, which JSON lacks, become null: refuse them before.
std::string json_text(const YamlNode& node);

/// JSON with the characters that would steer a terminal as `\u009b`: the same data. Line ends
/// between values stay.
std::string shown_json(std::string json);

/// A string in JSON's quotes.
std::string json_quoted(std::string_view text);

}  // namespace train
