// SPDX-License-Identifier: Apache-2.0
#include "launcher/formats/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config_schema/text/shell_words.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "launcher/rendezvous/rank_environment.hpp"

namespace train {

namespace {

// POSIX, Base Definitions, section 3.235 ("Name").
bool is_shell_name(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

// Read-only in bash: setting one ends the script that sources it.
bool is_read_only(std::string_view name) {
  constexpr std::array<std::string_view, 6> names = {"BASHOPTS", "BASH_VERSINFO", "EUID",
                                                     "PPID",     "SHELLOPTS",     "UID"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string line_of(const EnvironmentEntry& entry) {
  if (!is_shell_name(entry.name) || is_read_only(entry.name))
    return fmt::format("# {} is set, which a shell cannot do\n", escaped(entry.name));
  if (entry.secret) return fmt::format("# {} is set, and not shown\n", entry.name);
  if (entry.at_launch != AtLaunch::no)
    return fmt::format("# {} is known at launch: {}\n", entry.name, to_string(entry.at_launch));
  return fmt::format("export {}={}\n", entry.name, single_quoted(entry.text));
}

}  // namespace

std::string plan_to_env(const Plan& plan, std::optional<int> rank) {
  std::string text;
  const auto add = [&](const PlannedRank& planned) {
    if (!text.empty()) text += '\n';
    text += fmt::format("# rank {} on {}\n", planned.rank,
                        escaped(plan.trial.hosts[planned.host].host.name));
    for (const EnvironmentEntry& entry : environment_of(plan, planned.rank)) text += line_of(entry);
  };
  if (rank)
    add(plan.trial.ranks[static_cast<std::size_t>(*rank)]);
  else
    for (const PlannedRank& planned : plan.trial.ranks) add(planned);
  return text;
}

}  // namespace train
