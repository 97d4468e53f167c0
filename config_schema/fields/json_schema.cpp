// SPDX-License-Identifier: Apache-2.0
#include "config_schema/fields/json_schema.hpp"

#include <nlohmann/json.hpp>

#include "config_schema/fields/field_check.hpp"
#include "config_schema/fields/field_table.hpp"
#include "config_schema/text/error.hpp"
#include "config_schema/yaml/yaml_document.hpp"
#include "config_schema/yaml/yaml_writer.hpp"

namespace train {

namespace {

using Json = nlohmann::ordered_json;
using enum FieldType;

constexpr const char* hyperparameter_reference = "#/definitions/hyperparameter";

class SchemaMaker {
 public:
  explicit SchemaMaker(const FieldTable& table) : table_(table) {}

  // The mapping at a path ("" for the top); `field` is its own field, if any.
  Json object_of(const std::string& path, const Field* field) const {
    Json schema = {{"type", "object"}};
    Json properties = Json::object();
    Json required = Json::array();
    Json rest = field && has(field->types, open);
    for (const Field* child : table_.children(path)) {
      const std::string_view leaf = leaf_of(child->path);
      if (leaf == "[]") continue;
      if (leaf == "*") {
        rest = value_of(*child, true);
        continue;
      }
      const bool is_needed = child->needed_by == "*";
      properties[std::string(leaf)] =
          may_be_given(child->effect) ? value_of(*child, !is_needed) : removed_of(*child);
      if (is_needed) required.push_back(leaf);
    }
    if (field && !field->open_kinds.empty()) rest = true;
    schema["properties"] = std::move(properties);
    if (!required.empty()) schema["required"] = std::move(required);
    if (path.empty() && is_users_own(table_, "x-"))
      schema["patternProperties"]["^x-"] = {
          {"description", "a key of your own, which train does not look at: a place for anchors"}};
    schema["additionalProperties"] = std::move(rest);
    if (field && field->has_one_key) schema["minProperties"] = schema["maxProperties"] = 1;
    if (field && !field->selector.empty()) schema["allOf"] = kinds_of(path, *field);
    return schema;
  }

 private:
  // For each value of the selector, the required and the forbidden keys.
  Json kinds_of(const std::string& path, const Field& field) const {
    const std::string selector(field.selector);
    const Field& choice = *table_.find(path + "." + selector);
    std::vector<std::string> kinds = choice_words(choice.choices);
    for (std::string& kind : choice_words(choice.later_choices)) kinds.push_back(std::move(kind));
    Json all = Json::array();
    for (const std::string& kind : kinds) {
      Json then = then_of(path, field, kind);
      if (then.empty()) continue;
      Json when = {{"properties", {{selector, {{"const", kind}}}}}, {"required", {selector}}};
      all.push_back({{"if", std::move(when)}, {"then", std::move(then)}});
    }
    return all;
  }

  Json then_of(const std::string& path, const Field& field, const std::string& kind) const {
    Json then = Json::object();
    if (is_one_of(kind, field.open_kinds)) return then;
    for (const Field* child : table_.children(path)) {
      const std::string leaf(leaf_of(child->path));
      if (!child->kinds.empty() && !is_one_of(kind, child->kinds))
        then["properties"][leaf] = {{"type", "null"}};
      if (child->needed_by == "*" || !is_one_of(kind, child->needed_by)) continue;
      then["required"].push_back(leaf);
      then["properties"][leaf] = {{"not", {{"type", "null"}}}};
    }
    if (!field.open_kinds.empty()) {
      Json names = Json::array();
      for (const Field* child : table_.children(path))
        if (may_be_given(child->effect)) names.push_back(leaf_of(child->path));
      then["propertyNames"] = {{"enum", std::move(names)}};
    }
    return then;
  }

  // Only null is valid, which means absent.
  static Json removed_of(const Field& field) {
    return {{"description", field.meaning}, {"type", "null"}, {"doNotSuggest", true}};
  }

  Json value_of(const Field& field, bool may_be_null) const {
    Json alternatives = Json::array();
    constexpr FieldType every_type[] = {string,   boolean, integer, number,  bytes,
                                        duration, strings, list,    mapping, open};
    if (field.is_hyperparameter) alternatives.push_back({{"$ref", hyperparameter_reference}});
    for (const FieldType type : every_type)
      if (has(field.types, type))
        for (Json& schema : schemas_of(field, type)) alternatives.push_back(std::move(schema));
    if (may_be_null && !alternatives.empty()) alternatives.push_back({{"type", "null"}});
    Json schema = Json::object();
    schema["description"] = field.meaning;
    if (const Json usual = default_of(field); !usual.is_null()) schema["default"] = usual;
    // The definition of hyperparameters also accepts any value.
    const bool is_one =
        alternatives.size() == 1 || (has(field.types, any) && field.is_hyperparameter);
    if (is_one)
      schema.update(alternatives.front());
    else if (!alternatives.empty() && !has(field.types, any))
      schema["anyOf"] = std::move(alternatives);
    return schema;
  }

  std::vector<Json> schemas_of(const Field& field, FieldType type) const {
    switch (type) {
      case string:
        return {string_of(field)};
      case boolean:
        return {{{"type", "boolean"}}};
      case integer:
        return {with_range(field, {{"type", "integer"}})};
      case number:
        return {with_range(field, {{"type", "number"}})};
      case bytes:
        return {{{"type", "number"}, {"minimum", 0}, {"multipleOf", 1}},
                {{"type", "string"},
                 {"pattern", "^[0-9]*[.]?[0-9]+ *(B|KiB|MiB|GiB|TiB|KB|MB|GB|TB)$"}}};
      case duration:
        return durations_of(field);
      case strings:
        return {{{"type", "array"}, {"items", {{"type", "string"}}}}};
      case list:
        return {list_of(field)};
      case mapping:
      case open:
        return {object_of(std::string(field.path), &field)};
      case any:
        break;
    }
    return {};
  }

  static std::vector<Json> durations_of(const Field& field) {
    Json text = {{"type", "string"}, {"pattern", "^[0-9]*[.]?[0-9]+ *(ms|s|m|h|d)$"}};
    if (field.minimum == no_minimum) return {{{"type", "number"}, {"minimum", 0}}, std::move(text)};
    return {{{"const", 0}}, with_range(field, {{"type", "number"}}), std::move(text)};
  }

  static Json string_of(const Field& field) {
    Json schema = {{"type", "string"}};
    std::vector<std::string> words = choice_words(field.choices);
    for (std::string& word : choice_words(field.later_choices)) words.push_back(std::move(word));
    if (!words.empty()) schema["enum"] = words;
    if (field.pattern != FieldPattern::none) schema["pattern"] = regular_expression(field.pattern);
    return schema;
  }

  static Json with_range(const Field& field, Json schema) {
    if (field.minimum != no_minimum)
      schema[field.excludes_minimum ? "exclusiveMinimum" : "minimum"] = field.minimum;
    if (field.maximum != no_limit) schema["maximum"] = field.maximum;
    return schema;
  }

  Json list_of(const Field& field) const {
    Json schema = {{"type", "array"}};
    const Field* item = table_.find(std::string(field.path) + "[]");
    if (item) schema["items"] = value_of(*item, false);
    return schema;
  }

  static Json default_of(const Field& field) {
    if (field.default_text.empty()) return nullptr;
    const auto value = read_yaml({"default", std::string(field.default_text)}, ErrorClass::bug);
    return value ? Json::parse(json_text(**value)) : Json();
  }

  const FieldTable& table_;
};

// A mapping with `type` is one hyperparameter, any other a group of them.
Json hyperparameter_definition() {
  const SchemaMaker maker(hyperparameter_fields());
  Json kinds = Json::array();
  for (const Field* kind : hyperparameter_fields().children(""))
    kinds.push_back(maker.object_of(std::string(kind->path), kind));
  const Json group = {{"if", {{"type", "object"}}},
                      {"then", {{"additionalProperties", {{"$ref", hyperparameter_reference}}}}}};
  return {{"if", {{"type", "object"}, {"required", {"type"}}}},
          {"then", {{"anyOf", std::move(kinds)}}},
          {"else", group}};
}

Json with_head(const char* title, const Json& body) {
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
  schema.update(body);
  return schema;
}

}  // namespace

std::string experiment_json_schema() {
  Json schema =
      with_head("Experiment of train", SchemaMaker(experiment_fields()).object_of("", nullptr));
  schema["definitions"]["hyperparameter"] = hyperparameter_definition();
  return schema.dump(2) + "\n";
}

std::string hosts_json_schema() {
  Json host = SchemaMaker(host_fields()).object_of("", nullptr);
  Json defaults = host;
  for (const char* own : {"name", "address"}) defaults["properties"].erase(own);
  host["required"] = {"name"};
  host["properties"]["name"] = {{"type", "string"},
                                {"description", host["properties"]["name"]["description"]}};
  const SchemaMaker maker(inventory_fields());
  Json schema = with_head("Hosts of train", maker.object_of("", nullptr));
  schema["required"] = {"hosts"};
  schema["properties"]["defaults"] = {{"anyOf", {defaults, {{"type", "null"}}}}};
  schema["properties"]["hosts"] = {
      {"type", "array"}, {"minItems", 1}, {"items", {{"anyOf", {{{"type", "string"}}, host}}}}};
  return schema.dump(2) + "\n";
}

}  // namespace train
