// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/user_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "cli/completion/completion.hpp"
#include "cli/completion/value_kind.hpp"
#include "cli/request/request.hpp"
#include "cli/surroundings/user_account.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

/// A command with its name as typed after `train`: "task logs".
using Commands = std::map<std::string, const CLI::App*>;

void collect_commands(const CLI::App& app, const std::string& front, Commands& commands) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group().empty()) continue;
    const std::string name = front + command->get_name();
    if (command->get_require_subcommand_min() == 0) commands.emplace(name, command);
    collect_commands(*command, name + " ", commands);
  }
}

// The option of this long name that users can give; null: there is none.
CLI::Option* find_option(const CLI::App& command, const std::string& name) {
  CLI::Option* option = const_cast<CLI::App&>(command).get_option_no_throw("--" + name);
  const bool is_usable =
      option != nullptr && !option->get_group().empty() && option != command.get_help_ptr();
  return is_usable ? option : nullptr;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames())
      if (find_option(command, name) != nullptr) names.push_back(name);
  return names;
}

/// An option that the file gives to a command.
struct UserFlag {
  const CLI::App* command;
  CLI::Option* option;
  const YamlEntry* entry;
};

/// Finds the options that a file names.
class UserFlags {
 public:
  UserFlags(const CLI::App& app, const YamlNode& flags) {
    collect_commands(app, "", commands_);
    // What is below a command replaces what is for all.
    for (const YamlEntry& entry : flags.entries)
      if (entry.value->kind != YamlKind::mapping) add_for_all(entry);
    for (const YamlEntry& entry : flags.entries)
      if (entry.value->kind == YamlKind::mapping) add_for_command(entry);
  }

  const std::vector<UserFlag>& found() const { return found_; }
  Diagnostics& faults() { return faults_; }

 private:
  // A name may have a value in one command, and none in another: `--hosts LIST` and `--hosts`.
  void add_for_all(const YamlEntry& entry) {
    std::vector<UserFlag> same_name;
    for (const auto& [name, command] : commands_)
      if (CLI::Option* option = find_option(*command, entry.key))
        same_name.push_back({command, option, &entry});
    std::vector<UserFlag> fitting;
    std::copy_if(same_name.begin(), same_name.end(), std::back_inserter(fitting),
                 [&](const UserFlag& flag) {
                   return (flag.option->get_items_expected_max() == 0) ==
                          (entry.value->kind == YamlKind::boolean);
                 });
    if (same_name.empty()) refuse_name(entry);
    const auto& chosen = fitting.empty() ? same_name : fitting;
    found_.insert(found_.end(), chosen.begin(), chosen.end());
  }

  void refuse_name(const YamlEntry& entry) {
    std::vector<std::string> names;
    for (const auto& [name, command] : commands_) {
      names.push_back(name);
      for (std::string& option : option_names(*command)) names.push_back(std::move(option));
    }
    refuse(entry, fmt::format("no command of train has an option '--{}'", entry.key),
           did_you_mean(entry.key, names));
  }

  void add_for_command(const YamlEntry& entry) {
    const auto command = commands_.find(entry.key);
    if (command == commands_.end()) {
      std::vector<std::string> names;
      for (const auto& [name, ignored] : commands_) names.push_back(name);
      return refuse(entry, fmt::format("train has no command '{}'", entry.key),
                    did_you_mean(entry.key, names));
    }
    for (const YamlEntry& inside : entry.value->entries) {
      CLI::Option* option = find_option(*command->second, inside.key);
      if (option == nullptr) {
        refuse(inside, fmt::format("'train {}' has no option '--{}'", entry.key, inside.key),
               did_you_mean(inside.key, option_names(*command->second)));
        continue;
      }
      std::erase_if(found_, [&](const UserFlag& flag) { return flag.option == option; });
      found_.push_back({command->second, option, &inside});
    }
  }

  void refuse(const YamlEntry& entry, std::string message, const std::string& meant) {
    faults_.error(
        place_of(entry.mark), {}, std::move(message),
        meant.empty() ? "write long names of options without dashes: 'progress: plain'" : meant);
  }

  Commands commands_;
  std::vector<UserFlag> found_;
  Diagnostics faults_;
};

// The values of the option as on a command line; none: it is not given.
std::vector<std::string> values_of(const UserFlag& flag) {
  const YamlNode& node = *flag.entry->value;
  const bool is_flag = flag.option->get_items_expected_max() == 0;
  if (node.is_null() || (is_flag && node.kind == YamlKind::boolean && !node.boolean)) return {};
  if (is_flag && node.kind == YamlKind::boolean) return {"true"};
  const std::string kind = kind_of(*flag.option);
  const bool is_path = kind == value_kind::file || kind == value_kind::directory;
  std::vector<std::string> values;
  const auto add = [&](const YamlNode& item) {
    const bool is_at_home = is_path && item.text.starts_with("~/");
    values.push_back(is_at_home ? home_directory() + item.text.substr(1) : item.text);
  };
  if (node.kind == YamlKind::sequence)
    for (const YamlNodePtr& item : node.items) add(*item);
  else
    add(node);
  return values;
}

// Sets the option, so that it checks its value as on a command line.
void check_value(const UserFlag& flag, Diagnostics& faults) {
  const YamlNode& node = *flag.entry->value;
  const bool is_nested = node.kind == YamlKind::mapping ||
                         std::any_of(node.items.begin(), node.items.end(),
                                     [](const YamlNodePtr& item) { return !item->is_scalar(); });
  const bool is_repeatable =
      flag.option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  if (is_nested || (node.kind == YamlKind::sequence && !is_repeatable)) {
    faults.error(value_place(*flag.entry), {},
                 fmt::format("'{}' takes one value, not {}", flag.entry->key, describe(node)),
                 "write it as after --" + flag.entry->key + " on a command line");
    return;
  }
  try {
    flag.option->run_callback_for_default();
    for (const std::string& value : values_of(flag)) flag.option->default_val(value);
  } catch (const CLI::Error& error) {
    faults.error(
        value_place(*flag.entry), {}, error.what(),
        fmt::format("see 'train {} --help'",
                    flag.command->get_parent()->get_parent() == nullptr
                        ? flag.command->get_name()
                        : flag.command->get_parent()->get_name() + " " + flag.command->get_name()));
  }
}

// Whether the command line has it, or something in its place.
bool is_decided(const CLI::App& command, const CLI::Option& option) {
  constexpr std::array<std::array<const char*, 2>, 3> alternatives = {
      {{"--hosts", "--hostfile"}, {"--include", "--exclude"}, {"--format", "--json"}}};
  const auto is_given = [&](const char* name) {
    const CLI::Option* other = command.get_option_no_throw(name);
    return other != nullptr && other->count() > 0;
  };
  if (option.count() > 0) return true;
  for (const CLI::Option* other : option.get_excludes())
    if (other->count() > 0) return true;
  for (const auto& [one, other] : alternatives)
    if ((option.check_name(one) && is_given(other)) || (option.check_name(other) && is_given(one)))
      return true;
  const bool names_hosts = option.check_name("--hostfile") ||
                           (option.check_name("--hosts") && option.get_items_expected_max() > 0);
  return names_hosts && environment_names_hosts();
}

tl::unexpected<Error> error_of(Diagnostics& faults, const UserFile& file) {
  return tl::make_unexpected(faults.take_error(ErrorClass::config, file.flags->mark.text->name));
}

}  // namespace

bool takes_user_flags(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty() || chosen.front()->get_group().empty()) return false;
  // Ranks call the first two on hosts; the others look at the file themselves, or need nothing.
  constexpr std::array without = {"report", "once-per-host", "doctor", "completion"};
  return std::find(without.begin(), without.end(), chosen.front()->get_name()) == without.end();
}

Result<std::vector<std::string>> words_of_user(const CLI::App& app, const UserFile& file) {
  const CLI::App* chosen = &app;
  while (!chosen->get_subcommands().empty()) chosen = chosen->get_subcommands().front();
  UserFlags flags(app, *file.flags);
  std::vector<std::string> words;
  for (const UserFlag& flag : flags.found()) {
    if (flag.command != chosen || is_decided(*chosen, *flag.option)) continue;
    check_value(flag, flags.faults());
    for (const std::string& value : values_of(flag))
      words.push_back(fmt::format("--{}={}", flag.entry->key, value));
  }
  if (flags.faults().has_errors()) return error_of(flags.faults(), file);
  return words;
}

Result<void> check_user_flags(const CLI::App& app, const UserFile& file) {
  UserFlags flags(app, *file.flags);
  for (const UserFlag& flag : flags.found()) check_value(flag, flags.faults());
  if (flags.faults().has_errors()) return error_of(flags.faults(), file);
  return {};
}

}  // namespace train
