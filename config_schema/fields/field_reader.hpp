// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config_schema/fields/field_table.hpp"
#include "config_schema/text/diagnostics.hpp"
#include "config_schema/yaml/yaml_node.hpp"

namespace train {

/// A given value that has its field's type.
struct GivenValue {
  const Field* field = nullptr;
  YamlNodePtr node;
  Place place;           ///< of the value
  bool is_flag = false;  ///< from the command line
};

/// Reads a mapping by a table of fields. Errors: unknown keys, wrong types, values beyond a limit,
/// keys that exclude each other, and missing keys. Keys without effect become warnings, later
/// features obstacles. Valid values are stored under their field's path. Two places for one field
/// must agree, except that a flag overrides a file.
class FieldReader {
 public:
  /// `prefix` precedes paths in messages ("hosts[2].").
  FieldReader(const FieldTable& table, Diagnostics& diagnostics, std::string prefix = {});

  void read(const YamlNode& mapping);
  /// Reads a mapping as the field of this path; messages name it `shown`.
  void read_as(std::string_view path, const YamlNode& mapping, const std::string& shown);

  /// The valid value given for a field, in any of its places; nullptr if there is none.
  const GivenValue* given(std::string_view path) const;
  /// Whether the key itself was written and is not null.
  bool wrote(std::string_view path) const;
  /// The valid value given for exactly this path; nullptr if there is none.
  const GivenValue* written(std::string_view path) const;

  /// All given values, by the path that was written.
  const std::map<std::string_view, GivenValue>& all_written() const { return written_; }

  std::optional<std::int64_t> integer(std::string_view path) const;
  std::optional<double> number(std::string_view path) const;
  /// The given value, else the default of the table.
  bool boolean(std::string_view path) const;
  std::string text(std::string_view path) const;
  std::chrono::milliseconds duration(std::string_view path) const;

 private:
  // The reader's position: in the table, and as named in messages ("log_policies[0]").
  struct Level {
    std::string path;
    std::string shown;
    const Field* field = nullptr;  // of the mapping; nullptr at the top
    Place place;
  };

  void read_mapping(const YamlNode& mapping, const Level& level);
  void read_entry(const YamlEntry& entry, const Field& field, const std::string& shown);
  void read_inside(const YamlNodePtr& node, const Field& field, const std::string& shown,
                   const Place& place);
  bool check(const YamlNode& node, const Place& place, const Field& field,
             const std::string& shown);
  void check_kind(const YamlEntry& entry, const Field& field, const YamlNode& mapping,
                  const Level& level);
  void check_needed(const YamlNode& mapping, const Level& level);
  void check_effect(const YamlEntry& entry, const Field& field, const std::string& shown);
  void note_later(const YamlNode& node, const Place& place, const Field& field,
                  const std::string& shown);
  void keep(GivenValue value);
  bool acts(std::string_view path) const;
  std::string meant_instead_of(const std::string& key, const Level& level) const;
  void report_unknown(const YamlEntry& entry, const Level& level, const YamlNode& mapping);

  const FieldTable& table_;
  Diagnostics& diagnostics_;
  std::string prefix_;
  std::map<std::string_view, GivenValue> given_;    ///< by canonical path
  std::map<std::string_view, GivenValue> written_;  ///< by the path that was written
};

}  // namespace train
