// SPDX-License-Identifier: Apache-2.0
#pragma once
// The environments of planned ranks, in a form that is easily compared.

#include <map>
#include <string>

#include "launcher/rendezvous/rank_environment.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"

namespace train {

/// Name -> value; "<fact>" for what only a launch can know, "<secret>" for what is not shown.
using Values = std::map<std::string, std::string>;

inline Values values_of(const Plan& plan, int rank) {
  Values values;
  std::string previous;
  for (const EnvironmentEntry& entry : environment_of(plan, rank)) {
    CHECK(previous < entry.name);  // sorted, no name twice
    previous = entry.name;
    values[entry.name] = entry.at_launch != AtLaunch::no
                             ? "<" + std::string(to_string(entry.at_launch)) + ">"
                         : entry.secret ? "<secret>"
                                        : entry.text;
  }
  return values;
}

/// With what the experiment takes from this environment of a launcher.
inline Plan planned(const ExperimentConfig& experiment, const HostInventory& hosts,
                    const EnvironmentMap& launcher = {}) {
  const auto users = resolve_environment(experiment, launcher);
  REQUIRE(users);
  auto plan = make_plan(experiment, hosts, {}, *users);
  REQUIRE(plan);
  return std::move(*plan);
}

inline std::string value(const Values& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? "(unset)" : found->second;
}

/// Those whose names start with one of these prefixes.
inline Values with_prefix(const Values& values, const std::vector<std::string>& prefixes) {
  Values some;
  for (const auto& [name, text] : values)
    for (const std::string& prefix : prefixes)
      if (name.starts_with(prefix)) some[name] = text;
  return some;
}

inline EnvironmentVariable variable(const std::string& name, std::optional<std::string> text) {
  return {name, std::move(text), {}};
}

}  // namespace train
