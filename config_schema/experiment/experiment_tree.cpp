// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/experiment_tree.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/experiment/entrypoint.hpp"
#include "config_schema/experiment/script_file.hpp"
#include "config_schema/fields/field_reader.hpp"
#include "config_schema/fields/secrets.hpp"
#include "config_schema/text/diagnostics.hpp"
#include "config_schema/text/shell_words.hpp"
#include "config_schema/text/text.hpp"
#include "config_schema/yaml/yaml_document.hpp"

namespace train {
namespace {

// One step of a path: its word, and the word's position in the setting.
struct Step {
  std::string word;
  YamlMark mark;
};

struct Setting {
  std::vector<Step> path;
  YamlNodePtr value;
};

tl::unexpected<Error> refuse(ErrorClass error_class, const YamlMark& mark, std::string message,
                             std::string hint) {
  Diagnostics diagnostics;
  diagnostics.error(place_of(mark), {}, std::move(message), std::move(hint));
  return tl::make_unexpected(diagnostics.take_error(error_class, mark.text->name));
}

std::shared_ptr<const YamlSource> flag_text(std::string name, const std::string& text) {
  auto lines = std::make_shared<YamlSource>();
  lines->name = std::move(name);
  lines->lines = split_lines(text);
  lines->is_flag = true;
  return lines;
}

Result<Setting> read_setting(const std::string& text) {
  auto lines = flag_text("--set", text);
  const std::size_t equals = text.find('=');
  if (equals == text.npos) {
    const bool may_be_shown = !experiment_secrets().may_be_in(text);
    if (!may_be_shown) lines = flag_text("--set", "");
    return refuse(ErrorClass::usage, {lines, 1, 1},
                  fmt::format("'{}' has no '='", may_be_shown ? text : "(redacted)"),
                  "write --set key.path=value");
  }
  const std::string path = text.substr(0, equals);
  auto value =
      read_yaml_flag({"--set", text}, equals + 1, ErrorClass::config, experiment_secrets(path));
  if (!value) return tl::make_unexpected(std::move(value.error()));
  // The text with secrets hidden.
  if ((*value)->mark.text) lines = (*value)->mark.text;
  Setting setting;
  std::size_t begin = 0;
  for (const std::string_view word : split(path, '.')) {
    if (word.empty() && experiment_secrets().may_be_in(text)) lines = flag_text("--set", "");
    const YamlMark mark{lines, 1, column_of(lines->lines[0], begin)};
    if (word.empty())
      return refuse(ErrorClass::usage, mark, fmt::format("'{}' has an empty key", path),
                    "write --set key.path=value");
    if (setting.path.size() >= static_cast<std::size_t>(max_yaml_depth))
      return refuse(ErrorClass::usage, mark, fmt::format("deeper than {} levels", max_yaml_depth),
                    "write --set key.path=value");
    setting.path.push_back({std::string(word), mark});
    begin += word.size() + 1;
  }
  setting.value = *value;
  return setting;
}

std::shared_ptr<YamlNode> new_mapping(const YamlMark& mark) {
  auto node = std::make_shared<YamlNode>();
  node->kind = YamlKind::mapping;
  node->mark = mark;
  return node;
}

Result<YamlNodePtr> with_setting(const YamlNodePtr& node, const Setting& setting, std::size_t at);

Result<YamlNodePtr> with_item(const YamlNode& list, const Setting& setting, std::size_t at) {
  const Step& step = setting.path[at];
  const YamlNode index = resolve_plain_scalar(step.word);
  const auto size = static_cast<std::int64_t>(list.items.size());
  if (!index.integer || *index.integer < 0 || *index.integer > size)
    return refuse(ErrorClass::config, step.mark,
                  fmt::format("'{}' is no item of a list of {}", step.word, size),
                  fmt::format("items are 0 to {}; {} appends", size - 1, size));
  auto copy = std::make_shared<YamlNode>(list);
  const auto position = static_cast<std::size_t>(*index.integer);
  if (*index.integer == size) copy->items.push_back(nullptr);
  auto item = with_setting(copy->items[position], setting, at + 1);
  if (!item) return item;
  copy->items[position] = *item;
  return YamlNodePtr(copy);
}

Result<YamlNodePtr> with_entry(const YamlNode& mapping, const Setting& setting, std::size_t at) {
  const Step& step = setting.path[at];
  auto copy = std::make_shared<YamlNode>(mapping);
  YamlEntry* found = nullptr;
  for (YamlEntry& entry : copy->entries)
    if (entry.key == step.word) found = &entry;
  if (!found) found = &copy->entries.emplace_back(YamlEntry{step.word, step.mark, nullptr});
  auto value = with_setting(found->value, setting, at + 1);
  if (!value) return value;
  const bool is_last = at + 1 == setting.path.size();
  if (is_last) found->mark = step.mark;
  found->value = *value;
  return YamlNodePtr(copy);
}

bool is_inside_secret(const Setting& setting, std::size_t steps) {
  std::string path;
  for (std::size_t i = 0; i < steps; ++i) path += (path.empty() ? "" : ".") + setting.path[i].word;
  return is_secret_path(path);
}

Result<YamlNodePtr> with_setting(const YamlNodePtr& node, const Setting& setting, std::size_t at) {
  if (at == setting.path.size()) return setting.value;
  const Step& step = setting.path[at];
  if (!node || node->is_null()) return with_entry(*new_mapping(step.mark), setting, at);
  if (node->kind == YamlKind::mapping) return with_entry(*node, setting, at);
  if (node->kind == YamlKind::sequence) return with_item(*node, setting, at);
  return refuse(ErrorClass::config, step.mark,
                fmt::format("'{}' cannot be set inside {}", step.word,
                            is_inside_secret(setting, at) ? "a secret" : describe(*node)),
                "the path leads through a value that is no mapping");
}

// The setting that a flag such as `-n 8` stands for.
Setting short_setting(const std::string& flag, const std::string& value,
                      std::initializer_list<const char*> path) {
  const auto lines = flag_text(flag, value);
  Setting setting;
  const YamlMark mark{lines, 1, 1};
  for (const char* word : path) setting.path.push_back({word, mark});
  YamlNode node = resolve_plain_scalar(value);
  node.mark = mark;
  setting.value = std::make_shared<YamlNode>(std::move(node));
  return setting;
}

// Replaces the batch size in each place that gives it, so that the hyperparameters of the workers
// agree.
std::vector<Setting> batch_settings(const YamlNode& root, std::uint64_t batch) {
  const std::string value = fmt::format("{}", batch);
  std::vector<Setting> settings;
  const YamlEntry* parameters = root.find("hyperparameters");
  if (parameters && parameters->value->find("global_batch_size"))
    settings.push_back(short_setting("--batch", value, {"hyperparameters", "global_batch_size"}));
  if (settings.empty() || root.find("global_batch_size"))
    settings.push_back(short_setting("--batch", value, {"global_batch_size"}));
  return settings;
}

}  // namespace

Result<YamlNodePtr> apply_overrides(YamlNodePtr root, const ExperimentOverrides& overrides) {
  std::vector<Setting> settings;
  Error errors{ErrorClass::config, {}};
  const auto note = [&](const Error& error) {
    if (error.error_class == ErrorClass::usage) errors.error_class = ErrorClass::usage;
    errors.diagnostics.insert(errors.diagnostics.end(), error.diagnostics.begin(),
                              error.diagnostics.end());
  };
  const auto apply = [&](const Setting& setting) {
    auto changed = with_setting(root, setting, 0);
    if (changed)
      root = *changed;
    else
      note(changed.error());
  };
  for (const std::string& text : overrides.settings) {
    const auto setting = read_setting(text);
    if (setting)
      apply(*setting);
    else
      note(setting.error());
  }
  if (overrides.slots)
    apply(
        short_setting("-n", fmt::format("{}", *overrides.slots), {"resources", "slots_per_trial"}));
  if (overrides.global_batch)
    for (const Setting& setting : batch_settings(*root, *overrides.global_batch)) apply(setting);
  if (overrides.max_runtime)
    apply(short_setting("--max-runtime", *overrides.max_runtime, {"max_runtime"}));
  if (!errors.diagnostics.empty()) return tl::make_unexpected(std::move(errors));
  return root;
}

namespace {

const Field* field_inside(const std::string& path, const std::string& key) {
  const std::string front = path.empty() ? "" : path + ".";
  const Field* field = experiment_fields().find(front + key);
  return field ? field : experiment_fields().find(front + "*");
}

// Whether two mappings have the same keys: `{type: s3, ...}` and `{type: directory, ...}` do not.
bool are_of_one_kind(const Field& field, const YamlNode& given, const YamlNode& usual) {
  if (field.has_one_key) return false;
  if (field.selector.empty()) return true;
  const YamlEntry* mine = given.find(field.selector);
  const YamlEntry* other = usual.find(field.selector);
  return !mine || !other || mine->value->text == other->value->text;
}

/// Fills in defaults, but none for a field that is given in any of its places.
class DefaultLayer {
 public:
  explicit DefaultLayer(const FieldReader& given) : given_(given) {}

  YamlNodePtr below(const YamlNode& given, const YamlNode& usual, const std::string& path) const {
    auto both = std::make_shared<YamlNode>(given);
    for (const YamlEntry& entry : usual.entries) {
      const Field* field = field_inside(path, entry.key);
      const bool is_section = field && entry.value->kind == YamlKind::mapping &&
                              has(field->types, FieldType::mapping | FieldType::open);
      const auto found = std::find_if(both->entries.begin(), both->entries.end(),
                                      [&](const YamlEntry& own) { return own.key == entry.key; });
      const bool is_given = found != both->entries.end();
      if (is_given && is_section && found->value->kind == YamlKind::mapping &&
          are_of_one_kind(*field, *found->value, *entry.value))
        found->value = below(*found->value, *entry.value, std::string(field->path));
      if (is_given || (field && !field->twin.empty() && given_.given(field->twin)) ||
          (field && given_.given(field->path)))
        continue;
      YamlEntry added = entry;
      if (is_section)
        added.value =
            below(*new_mapping(entry.value->mark), *entry.value, std::string(field->path));
      both->entries.push_back(std::move(added));
    }
    return both;
  }

 private:
  const FieldReader& given_;
};

}  // namespace

Result<YamlNodePtr> with_defaults(YamlNodePtr root, const ExperimentDefaults& defaults,
                                  Diagnostics& faults) {
  if (defaults.text.empty()) return root;
  auto usual = read_yaml_tree({defaults.file, defaults.text}, ErrorClass::config, faults,
                              experiment_secrets());
  if (!usual) return usual;
  Diagnostics ignored(Diagnostics::Refused::none);
  FieldReader given(experiment_fields(), ignored);
  given.read(*root);
  return DefaultLayer(given).below(root->is_null() ? *new_mapping((*usual)->mark) : *root, **usual,
                                   "");
}

namespace {

// The file may be a program whose language cannot be recognised.
std::string hint_for_no_mapping(const std::string& path) {
  std::string hint = "write 'key: value' lines, such as 'entrypoint: python3 train.py'";
  const bool is_meant_so = path == "-" || path.ends_with(".yaml") || path.ends_with(".yml");
  if (is_meant_so) return hint;
  return fmt::format("{}; a program is run by: train launch -- {}", hint,
                     shell_quoted(path.find('/') == path.npos ? "./" + path : path));
}

}  // namespace

Result<YamlNodePtr> read_experiment_tree(const SourceText& source,
                                         const ExperimentOverrides& overrides,
                                         Diagnostics& faults) {
  auto root = read_yaml_tree(source, ErrorClass::config, faults, experiment_secrets());
  if (auto program = find_program_text(source, root ? root->get() : nullptr))
    return tl::make_unexpected(Error{ErrorClass::config, {std::move(*program)}});
  if (!root) return root;
  const YamlNode& node = **root;
  if (node.kind != YamlKind::mapping && !node.is_null()) {
    faults.error(place_of(node.mark), {},
                 fmt::format("an experiment is a mapping of keys, not {}", describe(node)),
                 hint_for_no_mapping(source.name));
    return tl::make_unexpected(faults.take_error(ErrorClass::config, source.name));
  }
  auto filled = with_defaults(*root, overrides.defaults, faults);
  if (!filled) return filled;
  auto changed = apply_overrides(std::move(*filled), overrides);
  if (changed) return changed;
  for (const Diagnostic& found : changed.error().diagnostics)
    faults.error(found.place, found.key, found.message, found.hint);
  return tl::make_unexpected(faults.take_error(changed.error().error_class, source.name));
}

namespace {

using enum FieldType;

std::shared_ptr<const YamlSource> text_of_defaults() {
  auto text = std::make_shared<YamlSource>();
  text->name = "default";
  return text;
}

class Effective {
 public:
  Effective(const ExperimentConfig& config, const FieldReader& fields)
      : config_(config), fields_(fields), defaults_(text_of_defaults()) {}

  // `written` may be nullptr: nothing was written.
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

  // A section that was left out is shown if fields in it have defaults.
  YamlNodePtr default_of(const Field& field) const {
    if (wants_default(field)) return default_value(field);
    const bool is_section = has(field.types, mapping) && !field.is_read_apart &&
                            field.effect == FieldEffect::used && field.source != FieldSource::ray;
    if (!is_section || has_any_key(field)) return nullptr;
    auto section = mapping_of(nullptr, field.path);
    return section->entries.empty() ? nullptr : section;
  }

  bool wants_default(const Field& field) const {
    const bool acts = field.effect == FieldEffect::used;
    if (field.default_text.empty() || !acts || !field.twin.empty()) return false;
    if (fields_.given(field.path)) return false;
    const bool is_tune = config_.searcher == to_string(SearchMethod::tune);
    if (is_tune && (field.path == "hyperparameters" || field.path.starts_with("searcher.")))
      return false;  // the keys of that form are shown instead
    if (field.path == "processes") return !find_host_launcher(config_.entrypoint);
    return field.kinds.empty() || is_one_of(config_.searcher, field.kinds);
  }

  YamlNodePtr default_value(const Field& field) const {
    std::string text(field.default_text);
    if (field.path == "max_restarts") text = fmt::format("{}", config_.max_restarts);
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
      if (path.empty() && is_users_own(experiment_fields(), entry.key)) continue;
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
  std::shared_ptr<const YamlSource> defaults_;
};

}  // namespace

Result<YamlNodePtr> effective_experiment(const SourceText& source,
                                         const ExperimentOverrides& overrides) {
  const auto config = parse_experiment(source, overrides, ReadFor::checking);
  if (!config) return tl::make_unexpected(config.error());
  Diagnostics ignored(Diagnostics::Refused::none);
  auto tree = read_experiment_tree(source, overrides, ignored);
  if (!tree) return tree;
  FieldReader fields(experiment_fields(), ignored);
  fields.read(**tree);
  return Effective(*config, fields).mapping_of(tree->get(), "");
}

}  // namespace train
