// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan_env.hpp"

#include <fmt/format.h>

namespace train {

namespace {

// Between single quotes a shell changes nothing; a single quote itself is written outside of them.
std::string quoted(const std::string& value) {
  std::string text = "'";
  for (const char c : value) {
    if (c == '\'')
      text += "'\\''";
    else
      text += c;
  }
  return text + "'";
}

std::string line_of(const EnvironmentEntry& entry) {
  if (entry.secret) return fmt::format("# {} is set, and not shown\n", entry.name);
  if (entry.at_launch != AtLaunch::no)
    return fmt::format("# {} is known at launch: {}\n", entry.name, to_string(entry.at_launch));
  return fmt::format("export {}={}\n", entry.name, quoted(entry.text));
}

}  // namespace

std::string plan_to_env(const Plan& plan, const std::vector<EnvironmentVariable>& user,
                        const LauncherEnvironment& launcher) {
  std::string text;
  const RankEnvironments environments(plan, user, launcher);
  for (const PlannedRank& rank : plan.trial.ranks) {
    if (!text.empty()) text += '\n';
    text += fmt::format("# rank {} on {}\n", rank.rank, plan.trial.hosts[rank.host].host.name);
    for (const EnvironmentEntry& entry : environments.of(rank.rank)) text += line_of(entry);
  }
  return text;
}

}  // namespace train
