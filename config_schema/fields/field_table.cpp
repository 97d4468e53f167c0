// SPDX-License-Identifier: Apache-2.0
#include "config_schema/fields/field_table.hpp"

#include "config_schema/text/text.hpp"

namespace train {

FieldTable::FieldTable(std::span<const Field> fields) : fields_(fields) {
  for (const Field& field : fields) {
    by_path_.emplace(field.path, &field);
    by_parent_[parent_of(field.path)].push_back(&field);
    by_leaf_.emplace(leaf_of(field.path), &field);
  }
}

const Field* FieldTable::find(std::string_view path) const {
  const auto found = by_path_.find(path);
  return found == by_path_.end() ? nullptr : found->second;
}

const std::vector<const Field*>& FieldTable::children(std::string_view path) const {
  static const std::vector<const Field*> none;
  const auto found = by_parent_.find(path);
  return found == by_parent_.end() ? none : found->second;
}

const Field* FieldTable::find_anywhere(std::string_view key) const {
  const auto found = by_leaf_.find(key);
  return found == by_leaf_.end() ? nullptr : found->second;
}

std::string_view parent_of(std::string_view path) {
  if (path.ends_with("[]")) return path.substr(0, path.size() - 2);
  const std::size_t dot = path.rfind('.');
  return dot == path.npos ? std::string_view() : path.substr(0, dot);
}

std::string_view leaf_of(std::string_view path) {
  if (path.ends_with("[]")) return "[]";
  return path.substr(path.rfind('.') + 1);
}

std::vector<std::string> choice_words(std::string_view choices) {
  std::vector<std::string> words;
  if (choices.empty()) return words;
  for (const std::string_view word : split(choices, '|')) words.emplace_back(word);
  return words;
}

bool is_one_of(std::string_view word, std::string_view choices) {
  if (choices.empty()) return false;
  for (const std::string_view candidate : split(choices, '|'))
    if (candidate == word) return true;
  return false;
}

}  // namespace train
