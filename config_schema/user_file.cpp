// SPDX-License-Identifier: Apache-2.0
#include "config_schema/user_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/fields/field_table.hpp"
#include "config_schema/fields/secrets.hpp"
#include "config_schema/text/text.hpp"
#include "config_schema/yaml/yaml_document.hpp"

namespace train {

namespace {

constexpr const char* shape_hint =
    "write 'defaults:' with keys of experiments below it, and 'flags:' with options of commands";

// The lines of one value at the top, each where it is in the file, and nothing else of the file.
std::string text_of_value(const std::string& file, const YamlNode& root, const YamlEntry& wanted) {
  const std::vector<std::string> lines = split_lines(file);
  const YamlMark& begin = wanted.value->mark;
  auto end = lines.size();
  for (const YamlEntry& other : root.entries)
    if (other.mark.line > wanted.mark.line)
      end = std::min(end, static_cast<std::size_t>(other.mark.line - 1));
  const auto first = static_cast<std::size_t>(begin.line - 1);
  const auto before = static_cast<std::size_t>(begin.column - 1);
  std::string text(first, '\n');
  for (std::size_t line = first; line < end; ++line)
    text += (line == first ? std::string(before, ' ') + lines[line].substr(before) : lines[line]) +
            '\n';
  return text;
}

// The secrets of the defaults are shown in no message.
ConfidentialParts secrets_of_defaults() {
  return {[](const YamlNode& root, const YamlSource& text) {
            const YamlEntry* defaults = root.find("defaults");
            return defaults ? experiment_secrets().in_tree(*defaults->value, text)
                            : std::vector<TextSpan>();
          },
          experiment_secrets().may_be_in};
}

void check_top(const YamlNode& root, Diagnostics& faults) {
  for (const YamlEntry& entry : root.entries) {
    const bool is_known = entry.key == "defaults" || entry.key == "flags";
    if (!is_known && !is_users_own(experiment_fields(), entry.key)) {
      const std::string meant = did_you_mean(entry.key, {"defaults", "flags"});
      faults.error(place_of(entry.mark), {}, fmt::format("unknown key '{}'", entry.key),
                   meant.empty() ? shape_hint : meant);
    } else if (is_known && !entry.value->is_null() && entry.value->kind != YamlKind::mapping) {
      faults.error(value_place(entry), {},
                   fmt::format("'{}' must be a mapping, not {}", entry.key, describe(*entry.value)),
                   shape_hint);
    } else if (entry.mark.column != 1) {
      faults.error(place_of(entry.mark), {},
                   fmt::format("'{}' is not at the beginning of a line", entry.key),
                   "write each key at the top of the file on a line of its own");
    }
  }
}

}  // namespace

Result<UserFile> parse_user_file(const SourceText& source) {
  Diagnostics faults;
  const auto root = read_yaml_tree(source, ErrorClass::config, faults, secrets_of_defaults());
  if (!root) return tl::make_unexpected(root.error());
  if ((*root)->kind == YamlKind::mapping)
    check_top(**root, faults);
  else if (!(*root)->is_null())
    faults.error(place_of((*root)->mark), {},
                 fmt::format("this file is a mapping of keys, not {}", describe(**root)),
                 shape_hint);
  if (faults.has_errors())
    return tl::make_unexpected(faults.take_error(ErrorClass::config, source.name));
  UserFile file{{}, std::make_shared<YamlNode>()};
  if (const YamlEntry* flags = (*root)->find("flags")) file.flags = flags->value;
  const YamlEntry* defaults = (*root)->find("defaults");
  if (!defaults || defaults->value->entries.empty()) return file;
  file.defaults = {source.name, text_of_value(source.text, **root, *defaults)};
  const auto legal =
      parse_experiment({file.defaults.file, file.defaults.text}, {}, ReadFor::checking);
  if (!legal) return tl::make_unexpected(legal.error());
  return file;
}

}  // namespace train
