// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/hyperparameters.hpp"

#include <fmt/format.h>

#include <cmath>

#include "config_schema/fields/field_reader.hpp"
#include "config_schema/text/nearest.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

using enum FieldType;
constexpr FieldSource determined = FieldSource::determined;

constexpr std::string_view least = "the smallest value that is tried";
constexpr std::string_view most = "the largest value that is tried, above minval";
constexpr std::string_view points = "how many values a grid search takes from the range";

// By kind: a kind is a mapping here, and `type` says which.
constexpr Field kinds_of_values[] = {
    Field{"const", mapping, determined, "", "one value, the same as the plain value"},
    Field{"const.type", string, determined, "", "the kind"}.one_of("const").needed(),
    Field{"const.val", any, determined, "", "the value"},
    Field{"int", mapping, determined, "", "a whole number of a range"},
    Field{"int.type", string, determined, "", "the kind"}.one_of("int").needed(),
    Field{"int.minval", integer, determined, "", least}.needed(),
    Field{"int.maxval", integer, determined, "", most}.needed(),
    Field{"int.count", integer, determined, "", points}.from(1),
    Field{"double", mapping, determined, "", "a number of a range"},
    Field{"double.type", string, determined, "", "the kind"}.one_of("double").needed(),
    Field{"double.minval", number, determined, "", least}.needed(),
    Field{"double.maxval", number, determined, "", most}.needed(),
    Field{"double.count", integer, determined, "", points}.from(1),
    Field{"log", mapping, determined, "", "a power of base, its exponent of a range"},
    Field{"log.type", string, determined, "", "the kind"}.one_of("log").needed(),
    Field{"log.minval", number, determined, "", "the smallest exponent that is tried"}.needed(),
    Field{"log.maxval", number, determined, "", "the largest exponent that is tried, above minval"}
        .needed(),
    Field{"log.base", number, determined, "", "what is raised to the exponent"}.above(0).needed(),
    Field{"log.count", integer, determined, "", points}.from(1),
    Field{"categorical", mapping, determined, "", "one value of a list"},
    Field{"categorical.type", string, determined, "", "the kind"}.one_of("categorical").needed(),
    Field{"categorical.vals", list, determined, "", "the values to choose from"}.needed(),
};

class Reader {
 public:
  explicit Reader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  // nullptr when the value is searched, or wrong. A list is a constant, whatever it holds.
  YamlNodePtr read(const YamlNodePtr& node, const std::string& path) {
    if (node->kind == YamlKind::sequence) note_uncounted(*node, path);
    if (node->kind != YamlKind::mapping) return node;
    const YamlEntry* type = node->find("type");
    if (!type) return read_entries(*node, path);
    return read_kind(*node, *type, path);
  }

  YamlNodePtr read_entries(const YamlNode& mapping, const std::string& path) {
    auto copy = std::make_shared<YamlNode>(mapping);
    copy->entries.clear();
    for (const YamlEntry& entry : mapping.entries)
      if (YamlNodePtr value = read(entry.value, fmt::format("{}.{}", path, entry.key)))
        copy->entries.push_back({entry.key, entry.mark, std::move(value)});
    return copy;
  }

  std::vector<SearchedParameter> take_searched() { return std::move(searched_); }
  std::vector<SearchedParameter> take_uncounted() { return std::move(uncounted_); }

 private:
  // Determined's grid search looks into lists, though they are constants.
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
      uncounted_.push_back({path, type->value->text, value_place(*type), 1});
  }

  YamlNodePtr read_kind(const YamlNode& node, const YamlEntry& type, const std::string& path) {
    const YamlNode& said = *type.value;
    const std::vector<std::string> kinds = {"const", "int", "double", "log", "categorical"};
    const bool is_kind = said.kind == YamlKind::string && hyperparameter_fields().find(said.text) &&
                         said.text.find('.') == std::string::npos;
    if (!is_kind) {
      diagnostics_.error(
          value_place(type), path + ".type",
          fmt::format("'{}.type' must be one of {}, not {}", path, join_words(kinds, "or"),
                      describe(said)),
          said.kind == YamlKind::string && !did_you_mean(said.text, kinds).empty()
              ? did_you_mean(said.text, kinds)
              : "a mapping with 'type' is one hyperparameter: name a plain key otherwise");
      return nullptr;
    }
    FieldReader fields(hyperparameter_fields(), diagnostics_);
    fields.read_as(said.text, node, path);
    if (said.text == "const") {
      const GivenValue* value = fields.given("const.val");
      if (value) return value->node;
      if (const YamlEntry* entry = node.find("val")) return entry->value;
      diagnostics_.error(place_of(type.mark), path,
                         fmt::format("'{}' is of type const, but has no 'val'", path),
                         "write the plain value");
      return nullptr;
    }
    check_range(fields, said.text, path);
    searched_.push_back({path, said.text, value_place(type), points_of(fields, said.text)});
    if (said.text != "categorical" && !fields.wrote(said.text + ".count"))
      uncounted_.push_back(searched_.back());
    return nullptr;
  }

  static std::int64_t points_of(const FieldReader& fields, const std::string& kind) {
    if (const GivenValue* values = fields.given(kind + ".vals"))
      return static_cast<std::int64_t>(values->node->items.size());
    const std::int64_t count = fields.integer(kind + ".count").value_or(1);
    const GivenValue* low = fields.given(kind + ".minval");
    const GivenValue* high = fields.given(kind + ".maxval");
    if (kind != "int" || !low || !high) return count;
    // Both ends belong to the range; its size may pass what 64 bits hold.
    const double size = high->node->real - low->node->real + 1;
    return static_cast<double>(count) > size ? static_cast<std::int64_t>(size) : count;
  }

  void check_range(const FieldReader& fields, const std::string& kind, const std::string& path) {
    const GivenValue* low = fields.given(kind + ".minval");
    const GivenValue* high = fields.given(kind + ".maxval");
    if (low && high && !(low->node->real < high->node->real))
      diagnostics_.error(
          high->place, path + ".maxval",
          fmt::format("'{0}.maxval' is {1}, which is not above '{0}.minval', {2} on line {3}", path,
                      high->node->text, low->node->text, low->place.line),
          low->node->real == high->node->real ? "write the plain value" : "swap the two");
    const GivenValue* values = fields.given(kind + ".vals");
    if (values && values->node->items.empty())
      diagnostics_.error(values->place, path + ".vals", fmt::format("'{}.vals' is empty", path),
                         "write the values to choose from");
  }

  Diagnostics& diagnostics_;
  std::vector<SearchedParameter> searched_;
  std::vector<SearchedParameter> uncounted_;
};

}  // namespace

const FieldTable& hyperparameter_fields() {
  static const FieldTable table(kinds_of_values);
  return table;
}

Hyperparameters read_hyperparameters(const YamlNode& mapping, Diagnostics& diagnostics) {
  Reader reader(diagnostics);
  Hyperparameters read;
  read.plain = reader.read_entries(mapping, "hyperparameters");
  read.searched = reader.take_searched();
  read.uncounted = reader.take_uncounted();
  return read;
}

void check_for_json(const YamlNode& node, const std::string& path, Diagnostics& diagnostics) {
  const bool is_number = node.kind == YamlKind::real || node.kind == YamlKind::integer;
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
