// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/experiment_show.hpp"

#include "config_schema/experiment/entrypoint.hpp"
#include "config_schema/fields/field_reader.hpp"
#include "config_schema/yaml/yaml_document.hpp"

namespace train {

namespace {

using enum FieldType;

std::shared_ptr<const YamlText> text_of_defaults() {
  auto text = std::make_shared<YamlText>();
  text->name = "default";
  return text;
}

class Effective {
 public:
  Effective(const ExperimentConfig& config, const FieldReader& fields)
      : config_(config), fields_(fields), defaults_(text_of_defaults()) {}

  // `written` may be nullptr: nothing was.
  std::shared_ptr<YamlNode> mapping_of(const YamlNode* written, std::string_view path) const {
    auto shown = std::make_shared<YamlNode>();
    shown->kind = YamlKind::mapping;
    shown->mark = written ? written->mark : YamlMark{defaults_, 0, 0};
    for (const Field* field : experiment_fields().children(path)) {
      const std::string leaf(leaf_of(field->path));
      const YamlEntry* entry = written ? written->find(leaf) : nullptr;
      const bool is_written = entry && !entry->value->is_null();
      YamlNodePtr value =
          is_written ? value_of(*entry->value, entry->value, *field) : default_of(*field);
      if (value)
        shown->entries.push_back({leaf, is_written ? entry->mark : shown->mark, std::move(value)});
    }
    if (written) append_unknown(*written, path, *shown);
    return shown;
  }

 private:
  YamlNodePtr value_of(const YamlNode& node, const YamlNodePtr& shared, const Field& field) const {
    if (field.is_secret) return plain("(redacted)", node.mark);
    const bool is_section = node.kind == YamlKind::mapping && has(field.types, mapping | open) &&
                            !field.is_read_apart && !has_any_key(field);
    return is_section ? mapping_of(&node, field.path) : shared;
  }

  // A section that was left out is shown for the defaults in it.
  YamlNodePtr default_of(const Field& field) const {
    if (wants_default(field)) return default_value(field);
    const bool is_section = has(field.types, mapping) && !field.is_read_apart &&
                            field.effect == FieldEffect::used && field.source != FieldSource::ray;
    if (!is_section || has_any_key(field)) return nullptr;
    auto section = mapping_of(nullptr, field.path);
    return section->entries.empty() ? nullptr : section;
  }

  bool wants_default(const Field& field) const {
    const bool acts = field.effect == FieldEffect::used || field.effect == FieldEffect::later;
    if (field.default_text.empty() || !acts || !field.twin.empty()) return false;
    if (fields_.given(field.path)) return false;
    if (field.path == "processes") return !find_host_launcher(config_.entrypoint);
    return field.kinds.empty() || is_one_of(config_.searcher, field.kinds);
  }

  YamlNodePtr default_value(const Field& field) const {
    std::string text(field.default_text);
    if (field.path == "resources.placement") text = to_string(config_.placement);
    if (field.path == "scaling_config.trainer_resources" && config_.trainer.empty()) text = "{}";
    auto value = read_yaml({"default", text}, ErrorClass::bug);
    auto node = std::make_shared<YamlNode>(**value);
    node->mark = {defaults_, 0, 0};
    return node;
  }

  static bool has_any_key(const Field& field) {
    return experiment_fields().find(std::string(field.path) + ".*") != nullptr;
  }

  static void append_unknown(const YamlNode& written, std::string_view path, YamlNode& shown) {
    for (const YamlEntry& entry : written.entries) {
      const std::string known = path.empty() ? entry.key : std::string(path) + "." + entry.key;
      if (!experiment_fields().find(known)) shown.entries.push_back(entry);
    }
  }

  YamlNodePtr plain(std::string text, const YamlMark& mark) const {
    auto node = std::make_shared<YamlNode>();
    node->kind = YamlKind::string;
    node->text = std::move(text);
    node->mark = mark;
    return node;
  }

  const ExperimentConfig& config_;
  const FieldReader& fields_;
  std::shared_ptr<const YamlText> defaults_;
};

}  // namespace

Result<YamlNodePtr> effective_experiment(const SourceText& source,
                                         const ExperimentOverrides& overrides) {
  const auto config = parse_experiment(source, overrides, ReadFor::checking);
  if (!config) return tl::make_unexpected(config.error());
  Diagnostics said_already(Diagnostics::Refused::none);
  auto tree = read_experiment_tree(source, overrides, said_already);
  if (!tree) return tree;
  FieldReader fields(experiment_fields(), said_already);
  fields.read(**tree);
  return Effective(*config, fields).mapping_of(tree->get(), "");
}

}  // namespace train
