// SPDX-License-Identifier: Apache-2.0
#include "config_schema/search/hyperparameters.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "config_schema/fields/field_reader.hpp"
#include "config_schema/search/tune_words.hpp"
#include "config_schema/text/text.hpp"
#include "config_schema/yaml/yaml_writer.hpp"

namespace train {

namespace {

constexpr std::string_view kinds = "const|int|double|log|categorical";

enum class Words { determined, tune };

class SpaceReader {
 public:
  SpaceReader(Words words, Diagnostics& diagnostics) : words_(words), diagnostics_(diagnostics) {}

  Hyperparameters read(const YamlNode& mapping, const std::string& path) {
    read_.plain = read_entries(mapping, path, read_.space);
    return std::move(read_);
  }

 private:
  // Adds the entries to the group; also returns the plain ones.
  YamlNodePtr read_entries(const YamlNode& mapping, const std::string& path, SearchGroup& group) {
    auto copy = std::make_shared<YamlNode>(mapping);
    copy->entries.clear();
    for (const YamlEntry& entry : mapping.entries)
      if (YamlNodePtr value = read_entry(entry, fmt::format("{}.{}", path, entry.key), group))
        copy->entries.push_back({entry.key, entry.mark, std::move(value)});
    return copy;
  }

  YamlNodePtr read_entry(const YamlEntry& entry, const std::string& path, SearchGroup& group) {
    const YamlNodePtr& node = entry.value;
    const auto add = [&](auto kind) { group[entry.key].kind = std::move(kind); };
    if (node->kind == YamlKind::sequence) note_uncounted(*node, path);
    if (node->kind != YamlKind::mapping) {
      add(parameter::Constant{json_text(*node)});
      return node;
    }
    if (const YamlEntry* type = node->find("type"); type && is_kind(*type->value, path))
      return read_kind(entry, *type, path, group);
    if (const YamlEntry* word = tune_word(*node)) {
      note_searched(path, word->key, place_of(word->mark));
      if (auto read = read_tune_word(*word, path, diagnostics_)) group[entry.key] = *read;
      return nullptr;
    }
    if (words_ == Words::determined && node->find("type")) return nullptr;  // was reported already
    if (is_unknown_word(*node, path)) return nullptr;
    parameter::Group inner;
    YamlNodePtr plain = read_entries(*node, path, inner.members);
    add(std::move(inner));
    return plain;
  }

  // With Determined's keys, a mapping with `type` is always a hyperparameter.
  bool is_kind(const YamlNode& type, const std::string& path) {
    const bool is_kind = type.kind == YamlKind::string && is_one_of(type.text, kinds);
    if (is_kind || words_ == Words::tune) return is_kind;
    const std::string hint = did_you_mean(type.text, choice_words(kinds));
    diagnostics_.error(
        place_of(type.mark), path + ".type",
        fmt::format("'{}.type' must be one of {}, not {}", path,
                    join_words(choice_words(kinds), "or"), describe(type)),
        type.kind == YamlKind::string && !hint.empty()
            ? hint
            : "a mapping with 'type' is one hyperparameter: name a plain key otherwise");
    return false;
  }

  const YamlEntry* tune_word(const YamlNode& mapping) const {
    const bool is_word = words_ == Words::tune && mapping.entries.size() == 1 &&
                         is_one_of(mapping.entries.front().key, tune_words);
    return is_word ? &mapping.entries.front() : nullptr;
  }

  // A group with one name is passed to each trial unchanged; a name from Tune's distributions that
  // train does not have is certainly a mistake.
  bool is_unknown_word(const YamlNode& group, const std::string& path) {
    if (group.entries.size() != 1) return false;
    const YamlEntry& only = group.entries.front();
    const bool is_tunes = words_ == Words::tune;
    if (is_tunes && is_one_of(only.key, other_tune_words)) {
      diagnostics_.error(
          place_of(only.mark), path + '.' + only.key,
          fmt::format("'{}' has Ray Tune's '{}', which there is not here", path, only.key),
          fmt::format("there are {}", join_words(choice_words(tune_words), "and")));
      return true;
    }
    if (only.value->kind != YamlKind::sequence) return false;
    const bool is_word = is_one_of(only.key, tune_words);
    std::string hint = is_tunes ? did_you_mean(only.key, choice_words(tune_words)) : std::string();
    if (is_word) hint = "Ray Tune's words are read in 'param_space'; Determined's have a 'type'";
    if (!hint.empty())
      diagnostics_.warn(place_of(only.mark), path + '.' + only.key,
                        fmt::format("'{}' is a group with the list '{}' in it, the same for each "
                                    "trial: nothing is drawn",
                                    path, only.key),
                        std::move(hint));
    return false;
  }

  // Determined's grid search looks into lists, although they are constants.
  void note_uncounted(const YamlNode& node, const std::string& path) {
    for (std::size_t i = 0; i < node.items.size(); ++i)
      note_uncounted(*node.items[i], fmt::format("{}[{}]", path, i));
    const YamlEntry* type = node.find("type");
    if (!type) {
      for (const YamlEntry& entry : node.entries)
        note_uncounted(*entry.value, fmt::format("{}.{}", path, entry.key));
      return;
    }
    const bool is_range = is_one_of(type->value->text, "int|double|log");
    const YamlEntry* count = node.find("count");
    if (is_range && (!count || count->value->is_null()))
      read_.uncounted.push_back({path, type->value->text, value_place(*type)});
  }

  void note_searched(const std::string& path, const std::string& type, Place place) {
    read_.searched.push_back({path, type, std::move(place)});
  }

  YamlNodePtr read_kind(const YamlEntry& entry, const YamlEntry& type, const std::string& path,
                        SearchGroup& group) {
    const std::string& kind = type.value->text;
    const YamlNode& node = *entry.value;
    FieldReader fields(hyperparameter_fields(), diagnostics_);
    fields.read_as(kind, node, path);
    if (kind == "const") {
      YamlNodePtr value = constant_of(fields, node, place_of(type.mark), path);
      if (value) group[entry.key].kind = parameter::Constant{json_text(*value)};
      return value;
    }
    note_searched(path, kind, value_place(type));
    if (kind != "categorical" && !fields.wrote(kind + ".count"))
      read_.uncounted.push_back(read_.searched.back());
    if (auto read = kind == "categorical" ? choice_of(fields, path) : range_of(fields, kind, path))
      group[entry.key] = std::move(*read);
    return nullptr;
  }

  YamlNodePtr constant_of(const FieldReader& fields, const YamlNode& node, const Place& place,
                          const std::string& path) {
    if (const GivenValue* value = fields.given("const.val")) return value->node;
    if (const YamlEntry* entry = node.find("val")) return entry->value;
    diagnostics_.error(place, path, fmt::format("'{}' is of type const, but has no 'val'", path),
                       "write the plain value");
    return nullptr;
  }

  std::optional<SearchParameter> choice_of(const FieldReader& fields, const std::string& path) {
    const GivenValue* values = fields.given("categorical.vals");
    if (!values) return std::nullopt;
    parameter::Choice choice;
    for (const YamlNodePtr& item : values->node->items) choice.values.push_back(json_text(*item));
    check_for_json(*values->node, path + ".vals", diagnostics_);
    if (!choice.values.empty()) return SearchParameter{std::move(choice)};
    diagnostics_.error(values->place, path + ".vals", fmt::format("'{}.vals' is empty", path),
                       "write the values to choose from");
    return std::nullopt;
  }

  std::optional<SearchParameter> range_of(const FieldReader& fields, const std::string& kind,
                                          const std::string& path) {
    const GivenValue* low = fields.given(kind + ".minval");
    const GivenValue* high = fields.given(kind + ".maxval");
    if (!low || !high) return std::nullopt;
    const bool is_whole = low->node->integer && high->node->integer;
    if (is_whole ? *low->node->integer >= *high->node->integer
                 : !(low->node->real < high->node->real)) {
      diagnostics_.error(
          high->place, path + ".maxval",
          fmt::format("'{0}.maxval' is {1}, which is not above '{0}.minval', {2} on line {3}", path,
                      high->node->text, low->node->text, low->place.line),
          low->node->real == high->node->real ? "write the plain value" : "swap the two");
      return std::nullopt;
    }
    const auto count = fields.integer(kind + ".count");
    if (kind == "int" && !is_whole) return std::nullopt;  // beyond 64 bits, was reported already
    if (kind == "int")
      return SearchParameter{
          parameter::WholeRange{*low->node->integer, *high->node->integer, count}};
    parameter::Range range{low->node->real, high->node->real, {}, count};
    bool is_finite = std::isfinite(range.high - range.low);
    if (kind == "log") {
      range.base = fields.number("log.base");
      if (!range.base) return std::nullopt;
      is_finite = is_finite && std::isfinite(std::pow(*range.base, range.low)) &&
                  std::isfinite(std::pow(*range.base, range.high));
    }
    if (is_finite) return SearchParameter{range};
    diagnostics_.error(high->place, path + ".maxval",
                       fmt::format("'{}' has values that no double can hold", path),
                       "write a smaller range");
    return std::nullopt;
  }

  Words words_;
  Diagnostics& diagnostics_;
  Hyperparameters read_;
};

}  // namespace

Hyperparameters read_hyperparameters(const YamlNode& mapping, Diagnostics& diagnostics) {
  return SpaceReader(Words::determined, diagnostics).read(mapping, "hyperparameters");
}

Hyperparameters read_param_space(const YamlNode& mapping, Diagnostics& diagnostics) {
  return SpaceReader(Words::tune, diagnostics).read(mapping, "param_space");
}

void check_for_json(const YamlNode& node, const std::string& path, Diagnostics& diagnostics) {
  const bool is_number = node.is_number();
  if (is_number && !std::isfinite(node.real))
    diagnostics.error(
        place_of(node.mark), path,
        fmt::format("'{}' is {}, which JSON cannot carry to the workers", path, node.text),
        "write a finite number, or a string");
  for (std::size_t i = 0; i < node.items.size(); ++i)
    check_for_json(*node.items[i], fmt::format("{}.{}", path, i), diagnostics);
  for (const YamlEntry& entry : node.entries)
    check_for_json(*entry.value, path + "." + entry.key, diagnostics);
}

}  // namespace train
