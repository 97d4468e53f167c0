// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/rank_commands.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "launcher/frames/json_fields.hpp"
#include "launcher/wire/message_limits.hpp"

namespace train {

using nlohmann::json;

namespace {

using Environment = std::vector<EnvironmentEntry>;

json json_of(const EnvironmentEntry& entry) {
  json value{{"name", from_bytes(entry.name)}};
  if (entry.at_launch == AtLaunch::no)
    value["value"] = from_bytes(entry.text);
  else
    value["at_launch"] = to_string(entry.at_launch);
  if (entry.at_launch != AtLaunch::no && !entry.text.empty()) value["of"] = entry.text;
  if (entry.secret) value["secret"] = true;
  if (entry.is_default) value["default"] = true;
  return value;
}

EnvironmentEntry entry_of(const json& value) {
  EnvironmentEntry entry;
  entry.name = text_field(value, "name");
  entry.secret = value.contains("secret") && bool_field(value, "secret");
  entry.is_default = value.contains("default") && bool_field(value, "default");
  if (value.contains("at_launch")) {
    entry.at_launch = at_launch_from_string(text_field(value, "at_launch"));
    if (entry.at_launch == AtLaunch::no) throw Malformed{"unknown launch-time value"};
    if (value.contains("of")) entry.text = text_field(value, "of");
  } else {
    entry.text = text_field(value, "value");
  }
  return entry;
}

bool is_before(const EnvironmentEntry& a, const EnvironmentEntry& b) { return a.name < b.name; }

bool is_sorted(const Environment& environment) {
  return std::adjacent_find(environment.begin(), environment.end(),
                            [](const auto& a, const auto& b) { return !is_before(a, b); }) ==
         environment.end();
}

// The differences between two environments; both must be sorted by name.
struct Changes {
  Environment set;
  std::vector<std::string> unset;
};

Changes changes_between(const Environment& from, const Environment& to) {
  Changes changes;
  auto old = from.begin();
  for (const EnvironmentEntry& entry : to) {
    for (; old != from.end() && is_before(*old, entry); ++old) changes.unset.push_back(old->name);
    const bool is_there = old != from.end() && old->name == entry.name;
    if (!is_there || *old != entry) changes.set.push_back(entry);
    if (is_there) ++old;
  }
  for (; old != from.end(); ++old) changes.unset.push_back(old->name);
  return changes;
}

Environment changed(const Environment& from, const Changes& changes) {
  Environment result;
  result.reserve(from.size() + changes.set.size());
  auto set = changes.set.begin();
  auto unset = changes.unset.begin();
  for (const EnvironmentEntry& old : from) {
    for (; set != changes.set.end() && is_before(*set, old); ++set) result.push_back(*set);
    if (set != changes.set.end() && set->name == old.name)
      result.push_back(*set++);
    else if (unset != changes.unset.end() && *unset == old.name)
      ++unset;
    else
      result.push_back(old);
  }
  result.insert(result.end(), set, changes.set.end());
  return result;
}

void add_entrypoint(json& value, const Entrypoint& entrypoint) {
  if (entrypoint.argv.empty()) {
    value["shell"] = from_bytes(entrypoint.shell);
    return;
  }
  json& argv = value["argv"] = json::array();
  for (const auto& argument : entrypoint.argv) argv.push_back(from_bytes(argument));
}

void add_environment(json& value, const char* name, const Environment& environment) {
  json& list = value[name] = json::array();
  for (const auto& entry : environment) list.push_back(json_of(entry));
}

Environment environment_of(const json& value, const char* name) {
  Environment environment;
  for (const auto& entry : array_field(value, name)) environment.push_back(entry_of(entry));
  return environment;
}

// `by_changes`: writes the environment as differences from the one before. Both must be sorted.
json json_of(const RankCommand& command, const RankCommand* before, bool by_changes) {
  json value{{"rank", command.rank}};
  if (!before || command.working_directory != before->working_directory)
    value["working_directory"] = from_bytes(command.working_directory);
  if (!before || command.entrypoint != before->entrypoint)
    add_entrypoint(value, command.entrypoint);
  if (before ? command.setup != before->setup : !command.setup.empty())
    value["setup"] = from_bytes(command.setup);
  if (!by_changes) {
    add_environment(value, "environment", command.environment);
    return value;
  }
  const Changes changes = changes_between(before->environment, command.environment);
  if (!changes.set.empty()) add_environment(value, "set", changes.set);
  if (!changes.unset.empty()) {
    json& unset = value["unset"] = json::array();
    for (const std::string& name : changes.unset) unset.push_back(from_bytes(name));
  }
  return value;
}

RankCommand command_of(const json& value, const RankCommand* before) {
  RankCommand command;
  command.rank = int_field(value, "rank");
  command.working_directory = before && !value.contains("working_directory")
                                  ? before->working_directory
                                  : text_field(value, "working_directory");
  if (value.contains("shell"))
    command.entrypoint.shell = text_field(value, "shell");
  else if (!before || value.contains("argv"))
    for (const auto& argument : array_field(value, "argv"))
      command.entrypoint.argv.push_back(to_bytes(argument));
  else
    command.entrypoint = before->entrypoint;
  if (command.entrypoint.empty()) throw Malformed{"a rank has nothing to run"};
  if (value.contains("setup"))
    command.setup = text_field(value, "setup");
  else if (before)
    command.setup = before->setup;
  if (!before || value.contains("environment")) {
    command.environment = environment_of(value, "environment");
    return command;
  }
  Changes changes;
  if (value.contains("set")) changes.set = environment_of(value, "set");
  if (value.contains("unset"))
    for (const auto& name : array_field(value, "unset")) changes.unset.push_back(to_bytes(name));
  command.environment = changed(before->environment, changes);
  return command;
}

}  // namespace

json json_of_ranks(const std::vector<RankCommand>& commands) {
  json ranks = json::array();
  const RankCommand* before = nullptr;
  bool was_sorted = false;
  for (const RankCommand& command : commands) {
    const bool sorted = is_sorted(command.environment);
    ranks.push_back(json_of(command, before, was_sorted && sorted));
    before = &command;
    was_sorted = sorted;
  }
  return ranks;
}

std::vector<RankCommand> ranks_of_json(const json& value) {
  std::vector<RankCommand> commands;
  std::size_t bytes = 0;
  for (const auto& rank : value) {
    commands.push_back(command_of(rank, commands.empty() ? nullptr : &commands.back()));
    bytes += size_of(commands.back());
    if (bytes > most_rank_bytes) throw Malformed{"commands that take too much memory"};
  }
  return commands;
}

std::size_t size_of(const RankCommand& command) {
  std::size_t bytes = sizeof command + command.working_directory.size() +
                      command.entrypoint.shell.size() + command.setup.size();
  for (const auto& argument : command.entrypoint.argv)
    bytes += sizeof(std::string) + argument.size();
  for (const auto& entry : command.environment)
    bytes += sizeof(EnvironmentEntry) + entry.name.size() + entry.text.size();
  return bytes;
}

}  // namespace train
