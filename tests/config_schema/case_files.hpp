// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "config_schema/allocation/scheduler_allocation.hpp"
#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_filter.hpp"
#include "config_schema/hosts/host_inventory.hpp"

namespace train::testing {

inline std::string slurp(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

inline std::vector<std::filesystem::path> sorted_entries(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> entries;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

/// The folders of all golden cases, TOPIC/FAULT.
inline std::vector<std::filesystem::path> case_folders() {
  std::vector<std::filesystem::path> folders;
  for (const auto& topic : sorted_entries(TRAIN_CASES)) {
    if (!std::filesystem::is_directory(topic)) continue;  // README.md
    const auto faults = sorted_entries(topic);
    folders.insert(folders.end(), faults.begin(), faults.end());
  }
  return folders;
}

/// A golden case: what a user gives.
struct Case {
  std::optional<std::string> experiment;
  std::optional<std::string> hosts;
  ExperimentOverrides overrides;
  std::optional<std::string> host_list;
  std::optional<std::pair<FilterKind, std::string>> filter;  ///< --include, --exclude
  std::optional<EnvironmentMap> environment;                 ///< of a scheduler's job
};

/// Reads a folder with `experiment.yaml`, `hosts`, or the `environment` of a job (NAME=VALUE lines;
/// files beside it), and `args`, one flag a line.
inline Case read_case(const std::filesystem::path& folder) {
  Case one;
  if (std::filesystem::exists(folder / "experiment.yaml"))
    one.experiment = slurp(folder / "experiment.yaml");
  if (std::filesystem::exists(folder / "hosts")) one.hosts = slurp(folder / "hosts");
  if (std::filesystem::exists(folder / "environment")) one.environment.emplace();
  std::istringstream variables(slurp(folder / "environment"));
  for (std::string line; std::getline(variables, line);)
    (*one.environment)[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
  std::istringstream lines(slurp(folder / "args"));
  for (std::string line; std::getline(lines, line);) {
    const std::string flag = line.substr(0, line.find(' '));
    const std::string value = flag == line ? "" : line.substr(flag.size() + 1);
    if (flag == "-n")
      one.overrides.slots = std::stoi(value);
    else if (flag == "--batch")
      one.overrides.global_batch = std::stoull(value);
    else if (flag == "--set")
      one.overrides.settings.push_back(value);
    else if (flag == "-H")
      one.host_list = value;
    else if (flag == "--include" || flag == "--exclude")
      one.filter = {flag == "--include" ? FilterKind::include : FilterKind::exclude, value};
    else
      throw std::runtime_error("unknown flag in " + folder.string());
  }
  return one;
}

}  // namespace train::testing
