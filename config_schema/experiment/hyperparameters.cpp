// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/hyperparameters.hpp"

#include <fmt/format.h>

#include <cmath>

#include "config_schema/fields/field_reader.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

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
    const YamlNode& chosen = *type.value;
    const std::vector<std::string> kinds = {"const", "int", "double", "log", "categorical"};
    const bool is_kind = chosen.kind == YamlKind::string &&
                         hyperparameter_fields().find(chosen.text) &&
                         chosen.text.find('.') == std::string::npos;
    if (!is_kind) {
      diagnostics_.error(
          value_place(type), path + ".type",
          fmt::format("'{}.type' must be one of {}, not {}", path, join_words(kinds, "or"),
                      describe(chosen)),
          chosen.kind == YamlKind::string && !did_you_mean(chosen.text, kinds).empty()
              ? did_you_mean(chosen.text, kinds)
              : "a mapping with 'type' is one hyperparameter: name a plain key otherwise");
      return nullptr;
    }
    FieldReader fields(hyperparameter_fields(), diagnostics_);
    fields.read_as(chosen.text, node, path);
    if (chosen.text == "const") {
      const GivenValue* value = fields.given("const.val");
      if (value) return value->node;
      if (const YamlEntry* entry = node.find("val")) return entry->value;
      diagnostics_.error(place_of(type.mark), path,
                         fmt::format("'{}' is of type const, but has no 'val'", path),
                         "write the plain value");
      return nullptr;
    }
    check_range(fields, chosen.text, path);
    searched_.push_back({path, chosen.text, value_place(type), points_of(fields, chosen.text)});
    if (chosen.text != "categorical" && !fields.wrote(chosen.text + ".count"))
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

// Points of a grid: each parameter's, multiplied.
std::optional<std::int64_t> grid_points(const std::vector<SearchedParameter>& searched) {
  std::int64_t points = 1;
  for (const SearchedParameter& parameter : searched)
    if (__builtin_mul_overflow(points, parameter.points, &points)) return std::nullopt;
  return points;
}

}  // namespace

Hyperparameters read_hyperparameters(const YamlNode& mapping, Diagnostics& diagnostics) {
  Reader reader(diagnostics);
  Hyperparameters read;
  read.plain = reader.read_entries(mapping, "hyperparameters");
  read.searched = reader.take_searched();
  read.uncounted = reader.take_uncounted();
  return read;
}

SearchSize read_search_size(const FieldReader& fields,
                            const std::vector<SearchedParameter>& searched,
                            const ExperimentConfig& config, Diagnostics& diagnostics) {
  SearchSize size;
  const std::string name = fields.text("searcher.name");
  if (name == "grid")
    size.trials = grid_points(searched);
  else if (name != "single")
    size.trials = fields.integer("searcher.max_trials");
  const auto most = fields.integer("searcher.max_concurrent_trials");
  // Determined's default; 0 stands for as many as fit.
  constexpr std::int64_t usually = 16;
  if (name != "single" && name != "custom" && most.value_or(usually) > 0)
    size.most_at_once = most.value_or(usually);
  size.most_slots = fields.integer("resources.max_slots");
  const GivenValue* limit = fields.given("resources.max_slots");
  if (limit && Quantity::of(*size.most_slots) < config.slots)
    diagnostics.error(limit->place, "resources.max_slots",
                      fmt::format("'max_slots' is {}, but one trial takes {}", *size.most_slots,
                                  counted(to_string(config.slots), "slot")),
                      "it limits all trials together: no trial could ever start");
  return size;
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
