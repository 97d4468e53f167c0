// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/place.hpp"

namespace train {

/// The kinds of YAML 1.2's core schema.
enum class YamlKind { null, boolean, integer, real, string, sequence, mapping };

/// The text of nodes, split into lines, for the carets of messages.
struct YamlSource {
  std::string name;                ///< file name or flag
  std::vector<std::string> lines;  ///< without line ends
  bool is_flag = false;            ///< given on the command line: overrides a file
};

/// Where a node begins: line and column count from 1; the column counts characters, not bytes.
struct YamlMark {
  std::shared_ptr<const YamlSource> text;
  int line = 0;
  int column = 0;
};

/// The place of a mark, with its line.
Place place_of(const YamlMark& mark);

struct YamlNode;
using YamlNodePtr = std::shared_ptr<const YamlNode>;

/// One `key: value` of a mapping. Keys are scalars and are compared by their text.
struct YamlEntry {
  std::string key;
  YamlMark mark;  ///< of the key
  YamlNodePtr value;
};

/// One value. Nodes are shared where the text uses aliases, and are immutable.
struct YamlNode {
  YamlKind kind = YamlKind::null;
  std::string text;                     ///< of a scalar, unquoted, as it was written
  bool boolean = false;                 ///< when kind is boolean
  std::optional<std::int64_t> integer;  ///< when kind is integer, unless it overflows
  double real = 0;                      ///< when kind is integer or real
  std::vector<YamlNodePtr> items;       ///< when kind is sequence
  std::vector<YamlEntry> entries;       ///< when kind is mapping; merge keys are resolved
  std::size_t size = 1;                 ///< nodes in it, itself included, with aliases expanded;
                                        ///< long text counts as several
  YamlMark mark;

  /// The entry of that key; nullptr if there is none, or if this is not a mapping.
  const YamlEntry* find(std::string_view key) const;
  bool is_scalar() const { return kind != YamlKind::sequence && kind != YamlKind::mapping; }
  bool is_null() const { return kind == YamlKind::null; }
  bool is_number() const { return kind == YamlKind::integer || kind == YamlKind::real; }
};

/// The place of a value; null and empty values have the place of their key.
Place value_place(const YamlEntry& entry);

/// A value in messages: "the string 'x'", "the integer 3", "a list".
std::string describe(const YamlNode& node);

/// A plain (unquoted) scalar under the core schema: `yes`, `on`, `12:30:00` and dates are strings,
/// `012` is twelve, `0o14` and `0xC` are twelve too, `1e3` is a real. Fills every field but `mark`.
YamlNode resolve_plain_scalar(std::string text);

}  // namespace train
