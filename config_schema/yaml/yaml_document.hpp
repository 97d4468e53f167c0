// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <functional>
#include <string_view>
#include <vector>

#include "config_schema/text/diagnostics.hpp"
#include "config_schema/text/error.hpp"
#include "config_schema/text/place.hpp"
#include "config_schema/yaml/yaml_node.hpp"

namespace train {

/// Bounds on one YAML text; a larger one is refused.
inline constexpr std::size_t max_yaml_bytes = 4u << 20;
inline constexpr int max_yaml_depth = 64;
inline constexpr std::size_t max_yaml_nodes = 1'000'000;  ///< with aliases expanded

/// A range of bytes in one line of a text; lines count from 0.
struct TextSpan {
  std::size_t line = 0;
  std::size_t begin = 0;
  std::size_t end = 0;

  auto operator<=>(const TextSpan&) const = default;
};

/// The parts of a text that must not be shown. In shown lines, each of their characters is replaced
/// by a star; if the text cannot be read and may contain such a part, no line is shown.
struct ConfidentialParts {
  std::function<std::vector<TextSpan>(const YamlNode& root, const YamlSource& text)> in_tree = {};
  std::function<bool(std::string_view text)> may_be_in = {};
};

/// Reads one YAML document into a tree with exact places. Anchors, aliases and merge keys work.
/// Errors are of class `error_class`, all that were found: broken syntax, duplicate keys (both
/// lines are named), more than one document, unknown tags, keys that are not scalars, text that is
/// not UTF-8, and the bounds above. A text without content is null.
Result<YamlNodePtr> read_yaml(const SourceText& source, ErrorClass error_class);

/// The same, for callers that search the tree for more faults: faults that leave a usable tree
/// (duplicate keys, merges of something other than a mapping) go to `faults`.
Result<YamlNodePtr> read_yaml_tree(const SourceText& source, ErrorClass error_class,
                                   Diagnostics& faults, const ConfidentialParts& hidden = {});

/// Reads the YAML value of a flag such as `--set a.b=[1, 2]`, which begins at byte `value_begin` of
/// the text; places refer to the whole text.
Result<YamlNodePtr> read_yaml_flag(const SourceText& source, std::size_t value_begin,
                                   ErrorClass error_class, const ConfidentialParts& hidden = {});

}  // namespace train
