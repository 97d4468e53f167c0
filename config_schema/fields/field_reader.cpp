// SPDX-License-Identifier: Apache-2.0
#include "config_schema/fields/field_reader.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "config_schema/fields/amounts.hpp"
#include "config_schema/fields/field_check.hpp"
#include "config_schema/fields/field_table.hpp"
#include "config_schema/text/text.hpp"
#include "config_schema/yaml/yaml_writer.hpp"

namespace train {

namespace {

using enum FieldType;

std::string joined(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

// The value of a mapping's selector ("s3"), or its default; empty: unknown.
std::string kind_of(const YamlNode& mapping, const Field& field, const FieldTable& table) {
  const Field* selector = table.find(joined(std::string(field.path), field.selector));
  const YamlEntry* entry = mapping.find(field.selector);
  const bool is_given = entry && !entry->value->is_null();
  if (!is_given && !selector->needed_by.empty()) return {};
  const std::string kind = is_given ? entry->value->text : std::string(selector->default_text);
  const bool is_known =
      is_one_of(kind, selector->choices) || is_one_of(kind, selector->later_choices);
  return is_known ? kind : std::string();
}

// For some kinds a mapping may have any keys: `searcher: {name: custom}`.
bool is_of_open_kind(const YamlNode& mapping, const Field& field, const FieldTable& table) {
  return !field.open_kinds.empty() && is_one_of(kind_of(mapping, field, table), field.open_kinds);
}

std::string shown_value(const YamlNode& node) {
  return node.is_scalar() ? node.text : json_text(node);
}

// Why this version cannot launch a known choice.
std::string why_later(const Field& field, const std::string& name, const std::string& word) {
  if (field.path == "searcher.name") return fmt::format("searcher '{}' is not there yet", word);
  if (field.path == "framework")
    return fmt::format("'{}: {}' is not there yet: its ranks meet at {}, which train does not run",
                       name, word, word == "mpi" ? "a PMIx server" : "a server of Horovod's own");
  return fmt::format("'{}: {}' is not there yet", name, word);
}

}  // namespace

FieldReader::FieldReader(const FieldTable& table, Diagnostics& diagnostics, std::string prefix)
    : table_(table), diagnostics_(diagnostics), prefix_(std::move(prefix)) {}

void FieldReader::read(const YamlNode& mapping) {
  read_mapping(mapping, {{}, {}, nullptr, place_of(mapping.mark)});
}

void FieldReader::read_as(std::string_view path, const YamlNode& mapping,
                          const std::string& shown) {
  read_mapping(mapping, {std::string(path), shown, table_.find(path), place_of(mapping.mark)});
}

void FieldReader::read_mapping(const YamlNode& mapping, const Level& level) {
  const Field* every = table_.find(joined(level.path, "*"));
  const bool is_open = level.field && (has(level.field->types, open) ||
                                       is_of_open_kind(mapping, *level.field, table_));
  for (const YamlEntry& entry : mapping.entries) {
    if (level.path.empty() && is_users_own(table_, entry.key)) continue;
    const bool is_one_word = entry.key.find_first_of(".[*") == entry.key.npos;
    const Field* field = is_one_word ? table_.find(joined(level.path, entry.key)) : nullptr;
    if (!field) field = every;
    if (field) {
      check_kind(entry, *field, mapping, level);
      read_entry(entry, *field, joined(level.shown, entry.key));
    } else if (!is_open) {
      report_unknown(entry, level, mapping);
    }
  }
  check_needed(mapping, level);
}

// Suggests a key: the translation of a key of another program; else the place of a valid key in the
// wrong place, unless it is not allowed there either and is the beginning of a neighbour; else the
// nearest key among the neighbours, first among those with an effect.
std::string FieldReader::meant_instead_of(const std::string& key, const Level& level) const {
  if (const auto path = field_for_foreign_word(table_, key); !path.empty())
    return fmt::format("did you mean '{}'?", path);
  const Field* elsewhere = table_.find_anywhere(key);
  const bool is_elsewhere = elsewhere && acts(elsewhere->path);
  const bool is_of_a_kind = is_elsewhere && !elsewhere->kinds.empty();
  for (const Field* field : table_.children(level.path))
    if (is_of_a_kind && leaf_of(field->path).starts_with(key))
      return fmt::format("did you mean '{}'?", leaf_of(field->path));
  if (is_elsewhere) return fmt::format("it belongs to '{}'", elsewhere->path);
  std::vector<std::string> neighbours;
  std::vector<std::string> idle;
  for (const Field* field : table_.children(level.path))
    if (may_be_given(field->effect))
      (acts(field->path) ? neighbours : idle).emplace_back(leaf_of(field->path));
  const std::string hint = did_you_mean(key, neighbours);
  return hint.empty() ? did_you_mean(key, idle) : hint;
}

// Whether a key and all mappings around it have an effect here.
bool FieldReader::acts(std::string_view path) const {
  for (; !path.empty(); path = parent_of(path)) {
    const Field* field = table_.find(path);
    if (field->effect != FieldEffect::used) return false;
  }
  return &table_ != &hyperparameter_fields();
}

void FieldReader::report_unknown(const YamlEntry& entry, const Level& level,
                                 const YamlNode& mapping) {
  // Further errors are only counted.
  if (diagnostics_.is_full()) return diagnostics_.error({}, {}, {});
  std::string hint = meant_instead_of(entry.key, level);
  // Hints at `--set lr=3` when the file has hyperparameters.lr.
  for (const YamlEntry& other : mapping.entries)
    if (hint.empty() && other.value->kind == YamlKind::mapping && other.value->find(entry.key) &&
        !(level.path.empty() && is_users_own(table_, other.key)))
      hint = fmt::format("did you mean '{}'?",
                         prefix_ + joined(joined(level.shown, other.key), entry.key));
  if (hint.empty() && entry.key.starts_with("x-"))
    hint = "a key of your own, x-..., stands at the top of a file";
  if (hint.empty() && entry.key.find(':') != entry.key.npos)
    hint = "a space is missing after the colon";
  const std::string where =
      level.path.empty() ? std::string() : fmt::format(" in '{}'", prefix_ + level.shown);
  diagnostics_.error(place_of(entry.mark), prefix_ + joined(level.shown, entry.key),
                     fmt::format("unknown key '{}'{}", entry.key, where), std::move(hint));
}

// Refuses keys of another kind: `bucket` with `type: shared_fs`.
void FieldReader::check_kind(const YamlEntry& entry, const Field& field, const YamlNode& mapping,
                             const Level& level) {
  if (field.kinds.empty() || entry.value->is_null() || !level.field) return;
  const std::string kind = kind_of(mapping, *level.field, table_);
  const bool is_open = is_of_open_kind(mapping, *level.field, table_);
  if (kind.empty() || is_open || is_one_of(kind, field.kinds)) return;
  const std::string selector = joined(prefix_ + level.shown, level.field->selector);
  const YamlEntry* selecting = mapping.find(level.field->selector);
  const bool is_given = selecting && !selecting->value->is_null();
  diagnostics_.error(
      place_of(entry.mark), prefix_ + joined(level.shown, entry.key),
      fmt::format("'{}' does not go with '{}: {}'{}", entry.key, selector, kind,
                  is_given ? " " + line_or_flag(place_of(selecting->mark)) : ", the default"),
      fmt::format("it belongs to {}", join_words(choice_words(field.kinds), "or")));
}

void FieldReader::check_needed(const YamlNode& mapping, const Level& level) {
  const std::string name = prefix_ + level.shown;
  const auto given = std::count_if(mapping.entries.begin(), mapping.entries.end(),
                                   [](const YamlEntry& each) { return !each.value->is_null(); });
  if (level.field && level.field->has_one_key && given != 1) {
    std::vector<std::string> keys;
    for (const Field* child : table_.children(level.path)) keys.emplace_back(leaf_of(child->path));
    diagnostics_.error(
        level.place, name,
        fmt::format("'{}' must have exactly one of {}", name, join_words(keys, "or")));
  }
  for (const Field* child : table_.children(level.path)) {
    if (child->needed_by.empty()) continue;
    const bool is_always = child->needed_by == "*";
    const std::string kind = is_always ? "" : kind_of(mapping, *level.field, table_);
    if (!is_always && !is_one_of(kind, child->needed_by)) continue;
    const YamlEntry* entry = mapping.find(leaf_of(child->path));
    if (entry && !entry->value->is_null()) continue;
    const std::string with =
        is_always ? std::string() : fmt::format(" with '{}: {}'", level.field->selector, kind);
    diagnostics_.error(level.place, joined(name, leaf_of(child->path)),
                       fmt::format("'{}' is missing in '{}'{}", leaf_of(child->path), name, with),
                       fmt::format("write '{}: ...', {}", leaf_of(child->path), child->meaning));
  }
}

void FieldReader::read_entry(const YamlEntry& entry, const Field& field, const std::string& shown) {
  if (entry.value->is_null()) return;
  if (field.effect == FieldEffect::removed)
    return diagnostics_.error(
        place_of(entry.mark), prefix_ + shown,
        fmt::format("'{}' is of an older version of Determined", prefix_ + shown),
        std::string(field.meaning));
  if (field.effect == FieldEffect::forbidden)
    return diagnostics_.error(place_of(entry.mark), prefix_ + shown,
                              fmt::format("'{}' cannot be set", prefix_ + shown),
                              std::string(field.meaning));
  const Place place = value_place(entry);
  if (!check(*entry.value, place, field, shown)) return;
  check_effect(entry, field, shown);
  const YamlSource* text = entry.value->mark.text.get();
  const bool is_single = field.path.find_first_of("[*") == field.path.npos;
  if (is_single) {
    GivenValue value{&field, entry.value, place, text && text->is_flag};
    written_[field.path] = value;
    keep(std::move(value));
  }
  read_inside(entry.value, field, shown, place);
}

void FieldReader::read_inside(const YamlNodePtr& node, const Field& field, const std::string& shown,
                              const Place& place) {
  if (field.is_read_apart) return;
  if (node->kind == YamlKind::mapping && has(field.types, mapping | open))
    return read_mapping(*node, {std::string(field.path), shown, &field, place});
  const Field* item_field = table_.find(std::string(field.path) + "[]");
  if (node->kind != YamlKind::sequence || !item_field) return;
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    const YamlNodePtr& item = node->items[i];
    const std::string name = fmt::format("{}[{}]", shown, i);
    const Place item_place = item->mark.text ? place_of(item->mark) : place;
    if (check(*item, item_place, *item_field, name))
      read_inside(item, *item_field, name, item_place);
  }
}

bool FieldReader::check(const YamlNode& node, const Place& place, const Field& field,
                        const std::string& shown) {
  const std::string name = prefix_ + shown;
  auto fault = find_fault(node, field, name);
  if (!fault) return true;
  diagnostics_.error(fault->mark.text ? place_of(fault->mark) : place, name,
                     std::move(fault->message), std::move(fault->hint));
  return false;
}

void FieldReader::check_effect(const YamlEntry& entry, const Field& field,
                               const std::string& shown) {
  const std::string name = prefix_ + shown;
  if (field.effect == FieldEffect::none) diagnostics_.note_idle(place_of(entry.mark), name);
  note_later(*entry.value, value_place(entry), field, name);
}

void FieldReader::note_later(const YamlNode& node, const Place& place, const Field& field,
                             const std::string& name) {
  if (node.kind != YamlKind::string || !is_one_of(node.text, field.later_choices)) return;
  diagnostics_.obstacle({place, name, why_later(field, name, node.text),
                         fmt::format("this version of train takes {}",
                                     join_words(choice_words(field.choices), "or"))},
                        field.blocks_plan);
}

void FieldReader::keep(GivenValue value) {
  const Field& field = *value.field;
  const std::string_view canonical = field.twin.empty() ? field.path : field.twin;
  const auto found = given_.find(canonical);
  if (found == given_.end()) {
    given_.emplace(canonical, std::move(value));
    return;
  }
  GivenValue& first = found->second;
  if (value.is_flag != first.is_flag) {
    if (value.is_flag) first = std::move(value);
    return;
  }
  if (first.field == &field) return;  // a duplicate key, which is reported already
  if (to_lower(json_text(*first.node)) == to_lower(json_text(*value.node))) return;
  diagnostics_.error(
      value.place, prefix_ + std::string(field.path),
      fmt::format("'{}' is {} here, but '{}' is {} {}", field.path, shown_value(*value.node),
                  first.field->path, shown_value(*first.node), line_or_flag(first.place)),
      "both mean the same: keep one of them");
}

const GivenValue* FieldReader::given(std::string_view path) const {
  const auto found = given_.find(path);
  return found == given_.end() ? nullptr : &found->second;
}

const GivenValue* FieldReader::written(std::string_view path) const {
  const auto found = written_.find(path);
  return found == written_.end() ? nullptr : &found->second;
}

bool FieldReader::wrote(std::string_view path) const { return written(path) != nullptr; }

std::optional<std::int64_t> FieldReader::integer(std::string_view path) const {
  const GivenValue* value = given(path);
  return value ? value->node->integer : std::nullopt;
}

std::optional<double> FieldReader::number(std::string_view path) const {
  const GivenValue* value = given(path);
  return value ? std::optional(value->node->real) : std::nullopt;
}

bool FieldReader::boolean(std::string_view path) const {
  if (const GivenValue* value = given(path)) return value->node->boolean;
  const Field* field = table_.find(path);
  return field && field->default_text == "true";
}

std::string FieldReader::text(std::string_view path) const {
  if (const GivenValue* value = given(path)) return value->node->text;
  const Field* field = table_.find(path);
  return field ? std::string(field->default_text) : std::string();
}

std::chrono::milliseconds FieldReader::duration(std::string_view path) const {
  const GivenValue* value = given(path);
  const Field* field = table_.find(path);
  const auto usual =
      field ? read_duration(resolve_plain_scalar(std::string(field->default_text))) : std::nullopt;
  const auto own = value ? read_duration(*value->node) : std::nullopt;
  return own.value_or(usual.value_or(std::chrono::milliseconds(0)));
}

}  // namespace train
