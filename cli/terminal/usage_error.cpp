// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/usage_error.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "config_schema/experiment/script_file.hpp"
#include "config_schema/text/shell_words.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

using Words = std::vector<std::string>;

bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

// The chosen command, and its name as typed: "train task logs".
struct Chosen {
  const CLI::App* command;
  std::string typed;
  std::size_t words = 0;  ///< number of arguments in the name
};

Chosen chosen_command(const CLI::App& app, const Words& arguments) {
  Chosen chosen{&app, app.get_name()};
  while (chosen.words < arguments.size()) {
    const std::string& word = arguments[chosen.words];
    const auto next = chosen.command->get_subcommands(
        [&](const CLI::App* command) { return command->get_name() == word; });
    if (next.empty()) break;
    chosen.command = next.front();
    chosen.typed += " " + arguments[chosen.words++];
  }
  return chosen;
}

// The names of the commands for users; commands in an empty group are hidden.
Words command_names(const CLI::App& app) {
  Words names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) names.push_back(command->get_name());
  return names;
}

// The commands of this name on any level: a user who types 'train kill' means 'train task kill'.
Words commands_named(const std::string& name, const CLI::App& app, const std::string& typed) {
  Words found;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group().empty()) continue;
    const std::string path = fmt::format("{} {}", typed, command->get_name());
    if (command->get_name() == name) found.push_back(fmt::format("'{}'", path));
    const Words below = commands_named(name, *command, path);
    found.insert(found.end(), below.begin(), below.end());
  }
  return found;
}

Words option_names(const CLI::App& command) {
  Words names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string see_help(const Chosen& chosen) { return fmt::format("see '{} --help'", chosen.typed); }

Error usage(std::string message, Words hints) {
  return with_hints(make_error(ErrorClass::usage, std::move(message)), std::move(hints));
}

Error usage(std::string message, const std::string& hint, const Chosen& chosen) {
  if (hint.empty()) return usage(std::move(message), Words{see_help(chosen)});
  return usage(std::move(message), Words{hint, see_help(chosen)});
}

Error unknown_option(const Chosen& chosen, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  return usage(fmt::format("'{}' has no option '{}'", chosen.typed, name),
               did_you_mean(name, option_names(*chosen.command)), chosen);
}

Error no_such_command(const CLI::App& app, const Chosen& chosen, const Words& arguments) {
  const Words names = command_names(*chosen.command);
  const std::string all = fmt::format("the commands are: {}", fmt::join(names, ", "));
  if (chosen.words == arguments.size())
    return usage(fmt::format("'{}' does nothing without a command", chosen.typed), all, chosen);
  const std::string& word = arguments[chosen.words];
  if (is_option(word)) return unknown_option(chosen, word);
  const Words elsewhere = commands_named(word, app, app.get_name());
  const std::string meant = elsewhere.empty()
                                ? did_you_mean(word, names)
                                : fmt::format("did you mean {}?", fmt::join(elsewhere, " or "));
  return usage(fmt::format("'{}' has no command '{}'", chosen.typed, word),
               meant.empty() ? all : meant, chosen);
}

// A command was given in the place of an experiment: shows where it belongs. The words before it
// are options of train, the words after it are its own.
Error command_without_dashes(const Chosen& chosen, const CLI::Option& config,
                             const Words& arguments, const Words& extra) {
  constexpr std::size_t longest = 200;
  const std::string first = config.as<std::string>();
  const bool is_experiment = first.ends_with(".yaml") || first.ends_with(".yml");
  const auto begin = arguments.begin() + static_cast<std::ptrdiff_t>(chosen.words);
  const auto at = std::find(begin, arguments.end(), first);
  Words words(begin, at);
  const bool has_slots = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word.starts_with("-n") || word.starts_with("--slots");
  });
  if (is_experiment)
    words.push_back(first);
  else if (!has_slots)
    words.insert(words.end(), {"-n", "1"});
  words.emplace_back("--");
  if (const Words script = command_of_script(first); !script.empty())
    words.push_back(script.front());
  words.insert(words.end(), is_experiment ? std::min(at + 1, arguments.end()) : at,
               arguments.end());
  std::string command = shell_line(words);
  if (command.size() > longest) command = command.substr(0, longest) + " ...";
  return usage(fmt::format("'{}' is one word too many: '{}' takes one experiment file",
                           extra.front(), chosen.typed),
               Words{"the command of the ranks goes after --:",
                     fmt::format("{} {}", chosen.typed, command)});
}

Error too_many_words(const CLI::App& app, const Chosen& chosen, const Words& arguments) {
  const Words extra = app.remaining(true);
  if (extra.empty() || is_option(extra.front()))
    return unknown_option(chosen, extra.empty() ? "" : extra.front());
  const CLI::Option* config = chosen.command->get_option_no_throw("CONFIG");
  const bool has_config = config != nullptr && config->count() > 0;
  // Only if the experiment is optional: a command cannot replace a required one.
  if (has_config && !config->get_required())
    return command_without_dashes(chosen, *config, arguments, extra);
  const std::string taken =
      has_config ? fmt::format(": '{}' takes one experiment file", chosen.typed) : "";
  return make_error(ErrorClass::usage,
                    fmt::format("'{}' is one word too many{}", extra.front(), taken),
                    see_help(chosen));
}

std::string names_of(const CLI::Option& option) { return option.get_name(false, true); }

Error wrong_count(const Chosen& chosen, const CLI::ParseError& error) {
  for (const CLI::Option* option : chosen.command->get_options())
    if (option->count() > 1 && option->get_expected_max() == 1 && !option->get_positional())
      return make_error(ErrorClass::usage,
                        fmt::format("{} was given {} times", names_of(*option), option->count()),
                        "give it once");
  const std::string said = error.what();
  const CLI::Option* option = chosen.command->get_option_no_throw(said.substr(0, said.find(':')));
  if (option == nullptr) return make_error(ErrorClass::usage, said, see_help(chosen));
  return make_error(ErrorClass::usage,
                    fmt::format("{} needs a value: {}", names_of(*option), option->get_type_name()),
                    see_help(chosen));
}

Error missing_word(const Chosen& chosen, const CLI::ParseError& error) {
  for (const CLI::Option* option : chosen.command->get_options())
    if (option->get_required() && option->count() == 0)
      return make_error(ErrorClass::usage,
                        fmt::format("'{}' needs a {}: {}", chosen.typed, option->get_name(),
                                    option->get_description()),
                        see_help(chosen));
  return make_error(ErrorClass::usage, error.what(), see_help(chosen));
}

}  // namespace

Error command_without_ranks(const CLI::App& app, const Words& arguments, const Words& command) {
  const Chosen chosen = chosen_command(app, arguments);
  return usage(
      fmt::format("'{}' runs nothing: it takes no '-- {}'", chosen.typed,
                  command.size() > 1 ? command.front() + " ..." : command.front()),
      "launch and plan take the command of the ranks after --, task exec one to run beside a rank",
      chosen);
}

Error usage_error(const CLI::App& app, const CLI::ParseError& error, const Words& arguments) {
  const Chosen chosen = chosen_command(app, arguments);
  if (chosen.command->get_require_subcommand_min() > 0)
    return no_such_command(app, chosen, arguments);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
    return too_many_words(app, chosen, arguments);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return wrong_count(chosen, error);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
    return missing_word(chosen, error);
  return make_error(ErrorClass::usage, error.what(), see_help(chosen));
}

}  // namespace train
