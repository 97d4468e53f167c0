// SPDX-License-Identifier: Apache-2.0
#include "config_schema/field_reader.hpp"

#include <fmt/format.h>

#include <cmath>

#include "config_schema/json_text.hpp"
#include "config_schema/nearest.hpp"
#include "config_schema/text.hpp"
#include "config_schema/units.hpp"

namespace train {

namespace {

std::vector<std::string> words_of(std::string_view choices) {
  std::vector<std::string> words;
  if (choices.empty()) return words;
  for (const std::string_view word : split(choices, '|')) words.emplace_back(word);
  return words;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  for (const std::string& candidate : words)
    if (candidate == word) return true;
  return false;
}

std::string_view parent_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == path.npos ? std::string_view() : path.substr(0, dot);
}

std::string_view leaf_of(std::string_view path) { return path.substr(path.rfind('.') + 1); }

bool has_type(const YamlNode& node, FieldType type) {
  switch (type) {
    case FieldType::any:
      return true;
    case FieldType::string:
    case FieldType::choice:
      return node.kind == YamlKind::string;
    case FieldType::boolean:
      return node.kind == YamlKind::boolean;
    case FieldType::integer:
      return node.kind == YamlKind::integer;
    case FieldType::number:
      return node.kind == YamlKind::integer || node.kind == YamlKind::real;
    case FieldType::bytes:
      return read_bytes(node).has_value();
    case FieldType::duration:
      return read_duration(node).has_value();
    case FieldType::list:
    case FieldType::strings:
      return node.kind == YamlKind::sequence;
    case FieldType::command:
      return node.kind == YamlKind::string || node.kind == YamlKind::sequence;
    case FieldType::mapping:
    case FieldType::open_mapping:
      return node.kind == YamlKind::mapping;
  }
  return false;
}

// What to write instead of a value of the wrong type, where that is plain to see.
std::string type_hint(const YamlNode& node, const Field& field) {
  const bool wants_number = field.type == FieldType::integer || field.type == FieldType::number;
  if (field.type == FieldType::string && node.is_scalar())
    return fmt::format("write \"{}\" in quotes", node.text);
  if (field.type == FieldType::integer && node.kind == YamlKind::real &&
      node.real == std::floor(node.real) && std::abs(node.real) < 1e15)
    return fmt::format("write {}", static_cast<std::int64_t>(node.real));
  if (node.kind != YamlKind::string) return {};
  const YamlKind plain = resolve_plain_scalar(node.text).kind;
  if (wants_number && (plain == YamlKind::integer || plain == YamlKind::real))
    return "remove the quotes";
  const std::string lower = to_lower(node.text);
  if (field.type == FieldType::boolean && (lower == "yes" || lower == "on" || lower == "true"))
    return "write true";
  if (field.type == FieldType::boolean && (lower == "no" || lower == "off" || lower == "false"))
    return "write false";
  return {};
}

std::string range_text(const Field& field) {
  if (field.maximum != no_limit) return fmt::format(" from {} to {}", field.minimum, field.maximum);
  return fmt::format(" of at least {}", field.minimum);
}

}  // namespace

Place value_place(const YamlEntry& entry) {
  const bool has_own = entry.value->mark.text != nullptr && !entry.value->is_null();
  return place_of(has_own ? entry.value->mark : entry.mark);
}

std::string expectation(const Field& field) {
  switch (field.type) {
    case FieldType::any:
      return "a value";
    case FieldType::string:
      return "a string";
    case FieldType::boolean:
      return "true or false";
    case FieldType::integer:
      return "a whole number" + range_text(field);
    case FieldType::number:
      return "a number" + range_text(field);
    case FieldType::bytes:
      return "a number of bytes such as 16GiB";
    case FieldType::duration:
      return "a duration such as 10s (a bare number is seconds)";
    case FieldType::choice:
      return "one of " + join_words(words_of(field.choices), "or");
    case FieldType::list:
      return "a list";
    case FieldType::strings:
      return "a list of strings";
    case FieldType::command:
      return "a string or a list of strings";
    case FieldType::mapping:
    case FieldType::open_mapping:
      return "a mapping";
  }
  return "a value";
}

FieldReader::FieldReader(std::span<const Field> table, Diagnostics& diagnostics, std::string prefix)
    : table_(table), diagnostics_(diagnostics), prefix_(std::move(prefix)) {}

const Field* FieldReader::find(std::string_view path) const {
  for (const Field& field : table_)
    if (field.path == path) return &field;
  return nullptr;
}

void FieldReader::read(const YamlNode& mapping) { read_mapping(mapping, {}, false); }

void FieldReader::read_mapping(const YamlNode& mapping, const std::string& path, bool is_open) {
  for (const YamlEntry& entry : mapping.entries) {
    const std::string entry_path = path.empty() ? entry.key : path + "." + entry.key;
    const Field* field = entry.key.find('.') == entry.key.npos ? find(entry_path) : nullptr;
    if (field)
      read_entry(entry, *field);
    else if (!is_open)
      report_unknown(entry, path);
  }
}

// The nearest key is looked for among the neighbours first, then anywhere by its last word, for a
// key that is right but in the wrong place.
void FieldReader::report_unknown(const YamlEntry& entry, const std::string& path) {
  std::vector<std::string> neighbours;
  std::string elsewhere;
  for (const Field& field : table_) {
    if (parent_of(field.path) == path) neighbours.emplace_back(leaf_of(field.path));
    if (elsewhere.empty() && leaf_of(field.path) == entry.key) elsewhere = std::string(field.path);
  }
  std::string hint = did_you_mean(entry.key, neighbours);
  if (!elsewhere.empty()) hint = fmt::format("it belongs to '{}'", elsewhere);
  if (hint.empty() && entry.key.find(':') != entry.key.npos)
    hint = "a space is missing after the colon";
  const std::string where = path.empty() ? std::string() : fmt::format(" in '{}'", path);
  const std::string full = prefix_ + (path.empty() ? entry.key : path + "." + entry.key);
  diagnostics_.error(place_of(entry.mark), full,
                     fmt::format("unknown key '{}'{}", entry.key, where), std::move(hint));
}

void FieldReader::read_entry(const YamlEntry& entry, const Field& field) {
  if (entry.value->is_null() || !check(entry, field)) return;
  const Place place = value_place(entry);
  const YamlText* text = entry.value->mark.text.get();
  GivenValue value{&field, entry.value, place, text && text->is_flag};
  written_[std::string(field.path)] = value;
  keep(std::move(value));
  const bool is_open = field.type == FieldType::open_mapping;
  if (field.type == FieldType::mapping || is_open)
    read_mapping(*entry.value, std::string(field.path), is_open);
}

bool FieldReader::check(const YamlEntry& entry, const Field& field) {
  const YamlNode& node = *entry.value;
  const Place place = value_place(entry);
  if (!has_type(node, field.type)) {
    diagnostics_.error(place, prefix_ + std::string(field.path),
                       fmt::format("'{}{}' must be {}, not {}", prefix_, field.path,
                                   expectation(field), describe(node)),
                       type_hint(node, field));
    return false;
  }
  switch (field.type) {
    case FieldType::choice:
      if (!check_choice(node, place, field)) return false;
      break;
    case FieldType::integer:
    case FieldType::number:
      if (!check_number(node, place, field)) return false;
      break;
    case FieldType::strings:
    case FieldType::command:
      if (!check_strings(node, field)) return false;
      break;
    default:
      break;
  }
  return check_effect(entry, place, field);
}

bool FieldReader::check_choice(const YamlNode& node, const Place& place, const Field& field) {
  const std::vector<std::string> choices = words_of(field.choices);
  if (contains(choices, node.text)) return true;
  const std::string path = prefix_ + std::string(field.path);
  std::vector<std::string> known = words_of(field.later_choices);
  if (contains(known, node.text)) {
    const bool is_search = field.path == "searcher.name";
    diagnostics_.error(place, path,
                       is_search ? fmt::format("searcher '{}': search is not there yet", node.text)
                                 : fmt::format("'{}: {}' is not there yet", path, node.text),
                       fmt::format("this version of train takes {}", join_words(choices, "or")));
    return false;
  }
  known.insert(known.end(), choices.begin(), choices.end());
  diagnostics_.error(place, path,
                     fmt::format("'{}' must be {}, not '{}'", path, expectation(field), node.text),
                     did_you_mean(node.text, known));
  return false;
}

bool FieldReader::check_strings(const YamlNode& node, const Field& field) {
  bool is_legal = true;
  const std::string path = prefix_ + std::string(field.path);
  for (const YamlNodePtr& item : node.items) {
    if (item->kind == YamlKind::string) continue;
    is_legal = false;
    diagnostics_.error(
        place_of(item->mark), path,
        fmt::format("'{}' must be {}, not {} in it", path, expectation(field), describe(*item)),
        item->is_scalar() ? fmt::format("write \"{}\" in quotes", item->text) : std::string());
  }
  return is_legal;
}

bool FieldReader::check_number(const YamlNode& node, const Place& place, const Field& field) {
  const bool fits = field.type == FieldType::number || node.integer.has_value();
  const bool is_low = !(node.real >= static_cast<double>(field.minimum));
  const bool is_high = field.maximum != no_limit && node.real > static_cast<double>(field.maximum);
  if (fits && std::isfinite(node.real) && !is_low && !is_high) return true;
  const std::string path = prefix_ + std::string(field.path);
  diagnostics_.error(place, path,
                     fmt::format("'{}' must be {}, not {}", path, expectation(field), node.text));
  return false;
}

bool FieldReader::check_effect(const YamlEntry& entry, const Place& place, const Field& field) {
  const std::string path = prefix_ + std::string(field.path);
  if (field.effect == FieldEffect::none)
    diagnostics_.warn(place_of(entry.mark), path, fmt::format("'{}' has no effect here", path));
  if (field.effect != FieldEffect::later) return true;
  const YamlNode& node = *entry.value;
  const YamlNode usual = resolve_plain_scalar(std::string(field.default_text));
  const bool is_same_duration =
      field.type == FieldType::duration && read_duration(node) == read_duration(usual);
  const bool is_usual = node.is_scalar() ? json_text(node) == json_text(usual) || is_same_duration
                                         : json_text(node) == field.default_text;
  if (is_usual) return true;
  const std::string feature =
      field.path == "max_restarts" ? "restarts are" : fmt::format("'{}' is", path);
  diagnostics_.error(place, path, fmt::format("{} not there yet in this version of train", feature),
                     field.default_text.empty()
                         ? std::string("remove the key")
                         : fmt::format("remove the key, or write {}", field.default_text));
  return false;
}

void FieldReader::keep(GivenValue value) {
  const Field& field = *value.field;
  const std::string canonical(field.same_as.empty() ? field.path : field.same_as);
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
  if (to_lower(json_text(*first.node)) == to_lower(json_text(*value.node))) return;
  const auto shown = [](const GivenValue& given) {
    return given.node->is_scalar() ? given.node->text : json_text(*given.node);
  };
  diagnostics_.error(value.place, prefix_ + std::string(field.path),
                     fmt::format("'{}' is {} here, but '{}' is {} on line {}", field.path,
                                 shown(value), first.field->path, shown(first), first.place.line),
                     "both mean the same: keep one of them");
}

const GivenValue* FieldReader::given(std::string_view path) const {
  const auto found = given_.find(path);
  return found == given_.end() ? nullptr : &found->second;
}

bool FieldReader::wrote(std::string_view path) const {
  return written_.find(path) != written_.end();
}

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
  const Field* field = find(path);
  return field && field->default_text == "true";
}

std::string FieldReader::text(std::string_view path) const {
  if (const GivenValue* value = given(path)) return value->node->text;
  const Field* field = find(path);
  return field ? std::string(field->default_text) : std::string();
}

std::chrono::milliseconds FieldReader::duration(std::string_view path) const {
  const GivenValue* value = given(path);
  const Field* field = find(path);
  const auto usual =
      field ? read_duration(resolve_plain_scalar(std::string(field->default_text))) : std::nullopt;
  const auto said = value ? read_duration(*value->node) : std::nullopt;
  return said.value_or(usual.value_or(std::chrono::milliseconds(0)));
}

}  // namespace train
