// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/script_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config_schema/fields/field_table.hpp"
#include "config_schema/text/shell_words.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

struct Language {
  std::string_view suffix;
  std::string_view interpreter;
};

constexpr std::array languages = {
    Language{".py", "python3"}, Language{".sh", "bash"},   Language{".bash", "bash"},
    Language{".pl", "perl"},    Language{".rb", "ruby"},   Language{".js", "node"},
    Language{".mjs", "node"},   Language{".R", "Rscript"}, Language{".jl", "julia"}};

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
constexpr std::string_view elf_magic = "\177ELF";

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool has_name_of_yaml(std::string_view path) {
  return path.ends_with(".yaml") || path.ends_with(".yml");
}

// The path as a command word: without a slash, PATH would be searched.
std::string as_program(const std::string& path) {
  return path.find('/') == path.npos ? "./" + path : path;
}

// The words of a first line "#!...", without `env` and its options; nothing without such a line.
std::optional<std::vector<std::string>> interpreter_words(std::string_view text) {
  if (!text.starts_with("#!")) return std::nullopt;
  const std::string_view line = trim(text.substr(2, text.find('\n') - 2));
  std::vector<std::string> words;
  bool is_behind_env = false;
  for (const std::string_view blank_free : split(line, ' ')) {
    const std::string_view word = trim(blank_free);
    if (word.empty()) continue;
    const bool is_for_env = word.front() == '-' || word.find('=') != word.npos;
    if (words.empty() && is_behind_env && is_for_env) continue;
    const bool is_env = words.empty() && !is_behind_env && name_of(word) == "env";
    is_behind_env = is_behind_env || is_env;
    if (!is_env) words.emplace_back(word);
  }
  return words;
}

// An experiment may begin with "#!/usr/bin/env -S train launch".
bool is_for_train(const std::vector<std::string>& interpreter) {
  return std::any_of(interpreter.begin(), interpreter.end(),
                     [](const std::string& word) { return name_of(word) == "train"; });
}

// YAML parses "def main():" as a key as well.
bool has_key_of_an_experiment(const YamlNode& tree) {
  return std::any_of(tree.entries.begin(), tree.entries.end(), [](const YamlEntry& entry) {
    return experiment_fields().find(entry.key) != nullptr ||
           is_users_own(experiment_fields(), entry.key);
  });
}

Diagnostic not_an_experiment(const SourceText& source, std::string_view kind,
                             const std::vector<std::string>& command) {
  const std::string hint = source.name == "-"
                               ? "write it to a file, and launch that: train launch -- ./FILE"
                               : "to run it: train launch -- " + shell_line(command);
  return {{source.name, 0, 0, {}}, {}, fmt::format("this is a {}, not an experiment", kind), hint};
}

}  // namespace

std::vector<std::string> command_of_script(std::string_view path) {
  for (const Language& language : languages)
    if (name_of(path).size() > language.suffix.size() && path.ends_with(language.suffix))
      return {std::string(language.interpreter), std::string(path)};
  return {};
}

std::optional<Diagnostic> find_program_text(const SourceText& source, const YamlNode* tree) {
  const std::string& path = source.name;
  std::string_view text = source.text;
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  if (text.starts_with(elf_magic)) return not_an_experiment(source, "program", {as_program(path)});
  const bool may_be_experiment = tree != nullptr && has_key_of_an_experiment(*tree);
  if (may_be_experiment || has_name_of_yaml(path)) return std::nullopt;
  if (auto command = command_of_script(path); !command.empty())
    return not_an_experiment(source, "script", command);
  auto interpreter = interpreter_words(text);
  if (!interpreter || is_for_train(*interpreter)) return std::nullopt;
  interpreter->push_back(interpreter->empty() ? as_program(path) : path);
  return not_an_experiment(source, "script", *interpreter);
}

}  // namespace train
