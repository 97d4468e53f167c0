// SPDX-License-Identifier: Apache-2.0
#include "cli/completion/completion.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <set>

#include "cli/completion/known_values.hpp"
#include "cli/completion/value_kind.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

using Words = std::vector<std::string>;

bool is_dashed(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

/// The words before the cursor, as CLI11 reads them.
class TypedLine {
 public:
  TypedLine(CLI::App& app, const Words& words) : command_(&app) {
    for (const std::string& word : words) take(word);
  }

  CLI::App& command() const { return *command_; }
  /// The option whose value comes next; null: none.
  CLI::Option* open() const { return open_; }
  bool is_in_command() const { return is_in_command_; }
  /// Whether a word is no command, so that nothing is known of what follows.
  bool is_wrong() const { return is_wrong_; }
  bool has(const CLI::Option* option) const { return given_.contains(option); }
  /// The argument that comes next; null: there is none.
  CLI::Option* next_argument() const {
    for (CLI::Option* option : command_->get_options())
      if (option->get_positional() && (!has(option) || option->get_items_expected_max() > 1))
        return option;
    return nullptr;
  }
  std::set<std::string> values_of(const CLI::Option* option) const {
    const auto found = given_.find(option);
    return found == given_.end() ? std::set<std::string>() : found->second;
  }
  /// The value of an option of the command; empty if it is not given.
  std::string value_of(const std::string& name) const {
    const auto values = values_of(command_->get_option_no_throw(name));
    return values.empty() ? "" : *values.begin();
  }

 private:
  void take(const std::string& word) {
    if (is_in_command_ || word == "--") {
      is_in_command_ = true;
    } else if (open_ != nullptr) {
      given_[open_].insert(word);
      open_ = nullptr;
    } else if (is_dashed(word)) {
      take_option(word);
    } else if (CLI::App* next = subcommand(word); next != nullptr && given_.empty()) {
      command_ = next;
    } else if (const CLI::Option* argument = next_argument()) {
      given_[argument].insert(word);
    } else {
      is_wrong_ = true;
    }
  }

  void take_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    CLI::Option* option = command_->get_option_no_throw(word.substr(0, equals));
    const bool is_joined = option == nullptr && word[1] != '-';  // -n4
    if (is_joined) option = command_->get_option_no_throw(word.substr(0, 2));
    if (option == nullptr) return;
    std::set<std::string>& values = given_[option];
    if (is_joined)
      values.insert(word.substr(2));
    else if (equals != std::string::npos)
      values.insert(word.substr(equals + 1));
    else if (takes_value(*option))
      open_ = option;
  }

  CLI::App* subcommand(const std::string& name) const {
    const auto found =
        command_->get_subcommands([&](CLI::App* each) { return each->get_name() == name; });
    return found.empty() ? nullptr : found.front();
  }

  CLI::App* command_;
  CLI::Option* open_ = nullptr;
  bool is_in_command_ = false;
  bool is_wrong_ = false;
  std::map<const CLI::Option*, std::set<std::string>> given_;
};

/// What is found for one word.
struct Found {
  const char* shell_adds = "nothing";
  std::vector<Candidate> candidates;
};

void add_commands(CLI::App& app, Found& found) {
  for (const CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    if (!command->get_group().empty())
      found.candidates.push_back({command->get_name(), command->get_description()});
}

void add_options(const TypedLine& line, Found& found) {
  for (const CLI::Option* option : line.command().get_options()) {
    if (option->get_group().empty()) continue;
    const bool is_repeatable = option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    if (line.has(option) && !is_repeatable) continue;
    for (const std::string& name : option->get_lnames())
      found.candidates.push_back({"--" + name, option->get_description()});
    for (const std::string& name : option->get_snames())
      found.candidates.push_back({"-" + name, option->get_description()});
  }
}

// `front` is what stands before the value in its word: "--hostfile=".
void add_values(const TypedLine& line, CLI::Option& option, const std::string& front,
                const std::string& typed, Found& found) {
  const std::string kind = kind_of(option);
  if (kind == value_kind::file || kind == value_kind::experiment) found.shell_adds = "files";
  if (kind == value_kind::directory) found.shell_adds = "directories";
  const KnownValues known({line.value_of("--hostfile"), line.value_of("--hosts")});
  for (Candidate& value : known.of(kind, typed, line.values_of(&option)))
    found.candidates.push_back({front + value.word, std::move(value.description)});
}

Found find(CLI::App& app, const Words& before, const std::string& word) {
  const TypedLine line(app, before);
  Found found;
  const std::size_t equals = word.find('=');
  if (line.is_in_command()) {
    found.shell_adds = "command";
  } else if (line.is_wrong()) {
    return found;
  } else if (line.open() != nullptr) {
    add_values(line, *line.open(), "", word, found);
  } else if (word.starts_with("--") && equals != std::string::npos) {
    CLI::Option* option = line.command().get_option_no_throw(word.substr(0, equals));
    if (option != nullptr)
      add_values(line, *option, word.substr(0, equals + 1), word.substr(equals + 1), found);
  } else if (word.starts_with('-')) {
    add_options(line, found);
  } else {
    add_commands(line.command(), found);
    if (CLI::Option* argument = line.next_argument()) add_values(line, *argument, "", word, found);
  }
  return found;
}

// Whether shells take the word as it is: names of hosts come from files of others. A range such as
// n[1-4] is a pattern to them.
bool is_plain(const std::string& word) {
  return std::all_of(word.begin(), word.end(), [](char byte) {
    return is_plain_byte(byte) || std::string_view("=@:,+/%").find(byte) != std::string_view::npos;
  });
}

// One line for the terminal. Shells shorten it further.
std::string line_about(const std::string& description) {
  constexpr std::size_t longest = 100;
  std::string line = escaped(description);
  std::replace(line.begin(), line.end(), '\t', ' ');
  if (line.size() <= longest) return line;
  std::size_t end = longest;
  while (is_continuation(line[end])) --end;
  return line.substr(0, end) + "...";
}

}  // namespace

// CLI11 throws where there is no validator.
std::string kind_of(CLI::Option& option) {
  try {
    return option.get_validator(0)->get_name();
  } catch (const CLI::OptionNotFound&) {
    return {};
  }
}

std::string completion_of(CLI::App& app, const Words& words) {
  const std::string word = words.empty() ? "" : words.back();
  const Found found = find(app, Words(words.begin(), words.end() - (words.empty() ? 0 : 1)), word);
  std::string text = fmt::format("{}\n", found.shell_adds);
  for (const Candidate& each : found.candidates)
    if (each.word.starts_with(word) && is_plain(each.word))
      text += fmt::format("{}\t{}\n", each.word, line_about(each.description));
  return text;
}

}  // namespace train
