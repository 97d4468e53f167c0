// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config_schema/diagnostics.hpp"
#include "config_schema/field.hpp"
#include "config_schema/yaml_node.hpp"

namespace train {

/// A value that was given and has its field's type.
struct GivenValue {
  const Field* field = nullptr;
  YamlNodePtr node;
  Place place;           ///< of the value
  bool is_flag = false;  ///< from the command line
};

/// Reads a mapping by a table of fields: unknown keys, wrong types and values beyond a limit become
/// errors, keys without effect warnings; what is legal is kept under its field's path. Two places
/// for one field must agree, except that a flag wins over a file.
class FieldReader {
 public:
  /// `prefix` goes before paths in messages ("hosts[2].").
  FieldReader(std::span<const Field> table, Diagnostics& diagnostics, std::string prefix = {});

  void read(const YamlNode& mapping);

  /// What was given for a field, wherever; nullptr when nothing (legal) was.
  const GivenValue* given(std::string_view path) const;
  /// Whether the key itself was written and is not null.
  bool wrote(std::string_view path) const;

  std::optional<std::int64_t> integer(std::string_view path) const;
  std::optional<double> number(std::string_view path) const;
  /// The value given, else the default of the table.
  bool boolean(std::string_view path) const;
  std::string text(std::string_view path) const;
  std::chrono::milliseconds duration(std::string_view path) const;

  const Field* find(std::string_view path) const;

 private:
  void read_mapping(const YamlNode& mapping, const std::string& path, bool is_open);
  void read_entry(const YamlEntry& entry, const Field& field);
  bool check(const YamlEntry& entry, const Field& field);
  bool check_choice(const YamlNode& node, const Place& place, const Field& field);
  bool check_strings(const YamlNode& node, const Field& field);
  bool check_number(const YamlNode& node, const Place& place, const Field& field);
  bool check_effect(const YamlEntry& entry, const Place& place, const Field& field);
  void keep(GivenValue value);
  void report_unknown(const YamlEntry& entry, const std::string& path);

  std::span<const Field> table_;
  Diagnostics& diagnostics_;
  std::string prefix_;
  std::map<std::string, GivenValue, std::less<>> given_;    ///< by canonical path
  std::map<std::string, GivenValue, std::less<>> written_;  ///< by the path that was written
};

/// Where a value stands: null and empty values stand where their key does.
Place value_place(const YamlEntry& entry);

/// What a field takes, for messages: "a whole number of at least 1", "one of a, b or c".
std::string expectation(const Field& field);

}  // namespace train
