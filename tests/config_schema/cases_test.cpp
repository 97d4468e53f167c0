// SPDX-License-Identifier: Apache-2.0
// Golden cases: tests/cases/FAULT/ holds an experiment.yaml or a hosts file with one fault, perhaps
// `args` with one flag a line, or the `environment` of a scheduler's job (NAME=VALUE lines; files
// beside it), and error.txt, what the user is told. TRAIN_REGENERATE=1 writes the
// error.txt files anew; look at the difference before you commit it.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config_schema/experiment_config.hpp"
#include "config_schema/host_filter.hpp"
#include "config_schema/host_inventory.hpp"
#include "config_schema/scheduler_allocation.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

namespace fs = std::filesystem;

std::string slurp(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

struct Arguments {
  ExperimentOverrides overrides;
  std::optional<std::string> host_list;
  std::optional<std::pair<FilterKind, std::string>> filter;
};

Arguments read_arguments(const fs::path& file) {
  Arguments arguments;
  std::istringstream lines(slurp(file));
  for (std::string line; std::getline(lines, line);) {
    const std::string flag = line.substr(0, line.find(' '));
    const std::string value = flag == line ? "" : line.substr(flag.size() + 1);
    if (flag == "-n")
      arguments.overrides.slots = std::stoi(value);
    else if (flag == "--batch")
      arguments.overrides.global_batch = std::stoull(value);
    else if (flag == "--set")
      arguments.overrides.settings.push_back(value);
    else if (flag == "--include" || flag == "--exclude")
      arguments.filter = {flag == "--include" ? FilterKind::include : FilterKind::exclude, value};
    else if (flag == "-H")
      arguments.host_list = value;
    else
      FAIL("unknown flag in " << file);
  }
  return arguments;
}

Result<HostInventory> filtered(Result<HostInventory> hosts, const Arguments& arguments) {
  if (!hosts || !arguments.filter) return hosts;
  return filter_hosts(std::move(*hosts), arguments.filter->first, arguments.filter->second);
}

template <class T>
std::string told(const Result<T>& result) {
  if (result) return "accepted\n";
  return "[" + std::string(to_string(result.error().error_class)) + "]\n" +
         render(result.error(), 100) + "\n";
}

// What an allocation is refused for.
std::string told_of_allocation(const fs::path& folder) {
  EnvironmentMap environment;
  std::istringstream lines(slurp(folder / "environment"));
  for (std::string line; std::getline(lines, line);)
    environment[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
  return told(read_allocation(environment, [&](const std::string& name) -> Result<std::string> {
    if (fs::exists(folder / name)) return slurp(folder / name);
    return fail(ErrorClass::no_input, "cannot read the hosts file '" + name + "': No such file");
  }));
}

std::string what_is_told(const fs::path& folder) {
  const Arguments arguments =
      fs::exists(folder / "args") ? read_arguments(folder / "args") : Arguments{};
  if (fs::exists(folder / "environment")) return told_of_allocation(folder);
  if (arguments.host_list)
    return told(filtered(parse_host_list({"-H", *arguments.host_list}), arguments));
  if (fs::exists(folder / "hosts"))
    return told(filtered(parse_hosts({"hosts", slurp(folder / "hosts")}), arguments));
  if (!fs::exists(folder / "experiment.yaml")) return told(make_experiment(arguments.overrides));
  return told(parse_experiment({"experiment.yaml", slurp(folder / "experiment.yaml")},
                               arguments.overrides));
}

}  // namespace

TEST_CASE("every fault is told as its case says") {
  const bool regenerates = std::getenv("TRAIN_REGENERATE") != nullptr;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(TRAIN_CASES)) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  REQUIRE(folders.size() >= 40);
  for (const fs::path& folder : folders) {
    INFO(folder.filename().string());
    const std::string said = what_is_told(folder);
    if (regenerates) std::ofstream(folder / "error.txt", std::ios::binary) << said;
    CHECK(said == slurp(folder / "error.txt"));
    CHECK(said != "accepted\n");
  }
}
