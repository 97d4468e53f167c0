// SPDX-License-Identifier: Apache-2.0
#include "tests/config_schema/fields/field_manual.hpp"

#include <fmt/format.h>

#include <cctype>
#include <vector>

#include "config_schema/fields/field_table.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

using enum FieldType;

// --- Roff ---

// Text between macro lines, at most 79 columns wide, none of whose lines is taken for a request.
std::string wrapped(const std::string& text) {
  constexpr std::size_t widest = 79;
  std::string lines;
  std::string line;
  for (const std::string_view word : split(text, ' ')) {
    if (!line.empty() && line.size() + 1 + word.size() > widest) {
      lines += line + "\n";
      line.clear();
    }
    const bool is_request = line.empty() && (word.starts_with('.') || word.starts_with('\''));
    line +=
        (line.empty() ? "" : " ") + (is_request ? "\\&" + std::string(word) : std::string(word));
  }
  return lines + line + "\n";
}

// An argument of a macro.
std::string argument(std::string_view text) {
  const bool is_plain = !text.empty() && text.find_first_of(" \"") == text.npos;
  return is_plain ? std::string(text) : fmt::format("\"{}\"", text);
}

std::string sentence(std::string_view text) {
  std::string words(text);
  const std::size_t second = std::min<std::size_t>(1, words.size());
  const bool is_word =
      second < words.size() && std::isupper(static_cast<unsigned char>(words[second])) == 0;
  if (is_word) words[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(words[0])));
  return wrapped(words + ".");
}

// --- One key ---

// 65536 as "65,536".
std::string grouped(std::int64_t number) {
  std::string digits = fmt::format("{}", number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

// The bounds in brackets, as arguments of a macro.
std::string duration_range_of(const Field& field) {
  if (field.minimum == no_minimum) return {};
  return fmt::format(" Po 0, or {} to {} s Pc", grouped(field.minimum), grouped(field.maximum));
}

std::string range_of(const Field& field) {
  const bool has_least = field.minimum != no_minimum;
  const bool has_most = field.maximum != no_limit;
  if (!has_least && !has_most) return {};
  if (field.minimum == field.maximum) return fmt::format(" Po {} Pc", grouped(field.minimum));
  if (has_least && has_most && !field.excludes_minimum)
    return fmt::format(" Po {} to {} Pc", grouped(field.minimum), grouped(field.maximum));
  std::string bounds;
  if (has_least)
    bounds = fmt::format(" {} {}", field.excludes_minimum ? "above" : "at least",
                         grouped(field.minimum));
  if (has_most)
    bounds += fmt::format("{}at most {}", has_least ? ", " : " ", grouped(field.maximum));
  return fmt::format(" Po{} Pc", bounds);
}

std::string string_of(const Field& field) {
  switch (field.pattern) {
    case FieldPattern::none:
      break;
    case FieldPattern::absolute_path:
      return "Ar absolute path";
    case FieldPattern::memory_size:
      return "Ar size No such as 4g";
    case FieldPattern::without_parent:
      return "Ar path No without \"'..'\"";
    case FieldPattern::not_dot:
      return "Ar path No other than \"'.'\"";
    case FieldPattern::device:
      return "Ar string No such as /dev/kvm:/dev/kvm:mrw";
  }
  if (field.choices.empty()) return "Ar string";
  std::string words;
  for (const std::string& word : choice_words(field.choices))
    words += (words.empty() ? "Cm " : " | ") + word;
  return words;
}

// What a value may be, as arguments of a macro.
std::string type_of(const Field& field, FieldType type) {
  switch (type) {
    case string:
      return string_of(field);
    case boolean:
      return "Cm true | false";
    case integer:
      return "Ar integer" + range_of(field);
    case number:
      return "Ar number" + range_of(field);
    case bytes:
      return "Ar bytes";
    case duration:
      return "Ar duration" + duration_range_of(field);
    case list:
      return "Ar list";
    case strings:
      return "Ar list of strings";
    case mapping:
      return "Ar mapping";
    case open:
      return "Ar mapping No of any keys";
    case any:
      return "Ar any value";
  }
  return {};
}

std::string types_of(const Field& field) {
  constexpr FieldType every_type[] = {integer, number,  string, boolean, bytes, duration,
                                      strings, mapping, open,   list,    any};
  std::string types;
  for (const FieldType type : every_type)
    if (has(field.types, type)) types += (types.empty() ? "" : " No or ") + type_of(field, type);
  return types;
}

// "environment.ports.NAME" of "environment.ports.*"
std::string shown_path(std::string_view path) {
  std::string shown(path);
  for (std::size_t star = shown.find('*'); star != shown.npos; star = shown.find('*'))
    shown.replace(star, 1, "NAME");
  return shown;
}

// Whether it must be given, and with what else in its mapping.
std::string need_of(const Field& field) {
  const std::vector<std::string> kinds = choice_words(field.kinds);
  const std::string only = "Only for " + join_words(kinds, "and");
  if (field.needed_by.empty()) return kinds.empty() ? "" : wrapped(only + ".");
  if (field.needed_by == field.kinds)
    return wrapped(fmt::format("{}, which {} it.", only, kinds.size() == 1 ? "needs" : "need"));
  const bool is_always = field.needed_by == "*";
  const std::string needed =
      is_always ? "Required" : "Required for " + join_words(choice_words(field.needed_by), "and");
  const bool has_usual_parent = is_always && !field.default_text.empty();
  return wrapped(has_usual_parent
                     ? fmt::format("{} where there is '{}'.", needed, parent_of(field.path))
                     : needed + ".");
}

std::string later_sentence(const Field& field) {
  if (field.later_choices.empty()) return {};
  return wrapped(fmt::format("Not there yet, and refused by {}: {}.",
                             field.blocks_plan ? "plan and launch" : "launch",
                             join_words(choice_words(field.later_choices), "and")));
}

std::string_view source_of(const Field& field) {
  switch (field.source) {
    case FieldSource::determined:
      return "Determined";
    case FieldSource::ray:
      return "Ray";
    case FieldSource::train:
      return "train";
  }
  return "train";
}

// What is to be said of a key below its name.
std::string body_of(const Field& field, bool says_idle) {
  std::string body = sentence(field.meaning);
  if (!field.twin.empty()) body += fmt::format("The same as\n.Ic {} .\n", field.twin);
  body += need_of(field);
  if (field.has_one_key) body += "Exactly one of its keys is given.\n";
  if (field.is_hyperparameter && !has(field.types, any)) body += "It may be searched.\n";
  if (!field.default_text.empty())
    body += fmt::format("Default:\n.Ql {} .\n", argument(field.default_text));
  body += later_sentence(field);
  if (field.is_secret) body += "Never shown.\n";
  if (field.effect == FieldEffect::metadata) body += "For people: it changes nothing.\n";
  if (says_idle) body += "No effect.\n";
  return body;
}

std::string item_of(const std::string& name, const Field& field, bool says_idle) {
  return fmt::format(".It Ic {} : {}\n{}.Pq {}\n", name, types_of(field), body_of(field, says_idle),
                     source_of(field));
}

// --- Groups of keys ---

// The field or one that it is inside has no effect.
bool is_idle(const FieldTable& table, const Field& field) {
  for (std::string_view path = field.path; !path.empty(); path = parent_of(path))
    if (const Field* outer = table.find(path); outer && outer->effect == FieldEffect::none)
      return true;
  return false;
}

// What is inside a mapping that is another place for one is documented there.
bool is_inside_twin(const FieldTable& table, const Field& field) {
  for (std::string_view path = parent_of(field.path); !path.empty(); path = parent_of(path))
    if (const Field* outer = table.find(path); outer && !outer->twin.empty()) return true;
  return false;
}

struct Group {
  const char* title;
  std::string_view roots;  ///< the keys at the top that belong to it; "": all that no other has
};

constexpr Group used_groups[] = {
    {"What runs",
     "name|description|labels|tags|project|workspace|entrypoint|processes|working_directory|"
     "framework|backend|visible_devices|forward_environment|data"},
    {"environment", "environment"},
    {"Hyperparameters and the batch", "hyperparameters|global_batch_size"},
    {"resources", "resources|slots_per_trial|num_workers|resources_per_worker"},
    {"scaling_config, and other words of Ray",
     "scaling_config|use_gpu|use_tpu|accelerator_type|topology|placement_strategy|label_selector|"
     "torch_config|runtime_env"},
    {"optimizations", "optimizations"},
    {"searcher", "searcher"},
    {"How it ends", ""},
};

constexpr Group idle_groups[] = {
    {"Checkpoints and validation",
     "checkpoint_policy|checkpoint_storage|tensorboard_storage|min_checkpoint_period|"
     "min_validation_period|perform_initial_validation|records_per_epoch|scheduling_unit"},
    {"Containers", "environment|bind_mounts"},
    {"All others", ""},
};

std::string_view root_of(std::string_view path) { return path.substr(0, path.find_first_of(".[")); }

// A key with a root of its own stands by the first group that has no other.
const Group* group_of(std::span<const Group> groups, std::string_view root) {
  for (const Group& group : groups)
    if (group.roots.empty() || is_one_of(root, group.roots)) return &group;
  return nullptr;
}

std::string manual_of(std::span<const Group> groups, bool are_idle) {
  const FieldTable& table = experiment_fields();
  std::string text;
  for (const Group& group : groups) {
    text += fmt::format(".Ss {}\n.Bl -tag -width Ds{}\n", group.title, are_idle ? " -compact" : "");
    for (const Field& field : table.fields()) {
      if (!may_be_given(field.effect) || is_inside_twin(table, field)) continue;
      const std::string_view root = root_of(field.path);
      const bool is_aside = table.find(root)->effect == FieldEffect::none ||
                            (root == "environment" && is_idle(table, field));
      if (is_aside != are_idle || group_of(groups, root) != &group) continue;
      text += item_of(shown_path(field.path), field, !are_idle && is_idle(table, field));
    }
    text += ".El\n";
  }
  return text;
}

// A hosts file is read whole or not at all: what is not there yet keeps plan from planning, too.
std::string keys_of_hosts(const FieldTable& table) {
  std::string text = ".Bl -tag -width Ds\n";
  for (const Field& field : table.fields())
    if (may_be_given(field.effect))
      text += item_of(shown_path(field.path), field.not_planned(), is_idle(table, field));
  return text + ".El\n";
}

// Old keys and words, with what to write; neighbours with the same advice stand together.
struct Refused {
  std::string names;
  std::string advice;
};

void add_refused(std::vector<Refused>& all, std::string name, std::string_view advice) {
  if (!all.empty() && all.back().advice == advice)
    all.back().names += " , " + std::move(name);
  else
    all.push_back({std::move(name), std::string(advice)});
}

}  // namespace

std::string manual_of_experiment_keys() { return manual_of(used_groups, false); }

std::string manual_of_idle_keys() { return manual_of(idle_groups, true); }

std::string manual_of_hyperparameter_kinds() {
  const FieldTable& table = hyperparameter_fields();
  std::string text = ".Bl -tag -width Ds\n";
  for (const Field* kind : table.children("")) {
    text += fmt::format(".It Ic type : Cm {}\n{}.Bl -tag -width Ds -compact\n", kind->path,
                        sentence(kind->meaning));
    for (const Field* key : table.children(kind->path)) {
      if (leaf_of(key->path) == "type") continue;
      text += fmt::format(".It Ic {} : {}\n{}", leaf_of(key->path), types_of(*key),
                          body_of(*key, false));
    }
    text += ".El\n";
  }
  return text + ".El\n";
}

std::string manual_of_refused_keys() {
  std::vector<Refused> all;
  for (const Field& field : experiment_fields().fields()) {
    if (!may_be_given(field.effect))
      add_refused(all, "Ic " + shown_path(field.path), field.meaning);
    for (const std::string& entry : choice_words(field.gone_choices)) {
      const std::size_t equals = entry.find('=');
      add_refused(all, fmt::format("Ic {} : Cm {}", field.path, entry.substr(0, equals)),
                  entry.substr(equals + 1));
    }
  }
  std::string text = ".Bl -tag -width Ds\n";
  for (const Refused& refused : all)
    text += fmt::format(".It {}\n{}", refused.names, sentence(refused.advice));
  return text + ".El\n";
}

std::string manual_of_host_keys() {
  return ".Ss The file\n" + keys_of_hosts(inventory_fields()) + ".Ss Each host\n" +
         keys_of_hosts(host_fields());
}

}  // namespace train
