// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config_schema/fields/field.hpp"

namespace train {

/// The keys that a mapping may hold, with those of the mappings inside it.
class FieldTable {
 public:
  explicit FieldTable(std::span<const Field> fields);

  /// In the order in which they are documented.
  std::span<const Field> fields() const { return fields_; }
  /// The field of a table path ("log_policies[].pattern"); nullptr: there is none.
  const Field* find(std::string_view path) const;
  /// The fields directly inside one ("" for the top), `PATH.*` and `PATH[]` included.
  const std::vector<const Field*>& children(std::string_view path) const;
  /// A field whose last word is `key`, wherever; nullptr: there is none.
  const Field* find_anywhere(std::string_view key) const;

 private:
  std::span<const Field> fields_;
  std::unordered_map<std::string_view, const Field*> by_path_;
  std::unordered_map<std::string_view, std::vector<const Field*>> by_parent_;
  std::unordered_map<std::string_view, const Field*> by_leaf_;
};

/// The path of what a field is inside: "a.b" of "a.b.c" and of "a.b[]"; empty at the top.
std::string_view parent_of(std::string_view path);
/// The last word of a path: "c" of "a.b.c", "[]" of "a.b[]".
std::string_view leaf_of(std::string_view path);
/// The words of "a|b|c"; none of "".
std::vector<std::string> choice_words(std::string_view choices);
/// Whether a word is one of "a|b|c".
bool is_one_of(std::string_view word, std::string_view choices);

/// Every key of an experiment: Determined's v0 schema, Ray's ScalingConfig, and train's own.
const FieldTable& experiment_fields();
/// Every key of one hyperparameter that is searched: `{type: int, minval: 1, maxval: 8}`.
const FieldTable& hyperparameter_fields();
/// Every key of one host of a YAML inventory (and of its `defaults:`), and those at its top.
const FieldTable& host_fields();
const FieldTable& inventory_fields();

}  // namespace train
