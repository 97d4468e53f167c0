// SPDX-License-Identifier: Apache-2.0
// Golden cases: tests/cases/FAULT/ holds an experiment.yaml or a hosts file with one fault, perhaps
// `args` with one flag a line, and error.txt, what the user is told. TRAIN_REGENERATE=1 writes the
// error.txt files anew; look at the difference before you commit it.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config_schema/experiment_config.hpp"
#include "config_schema/host_inventory.hpp"
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
    else if (flag == "-H")
      arguments.host_list = value;
    else
      FAIL("unknown flag in " << file);
  }
  return arguments;
}

std::string told(const Error& error) {
  return "[" + std::string(to_string(error.error_class)) + "]\n" + render(error, 100) + "\n";
}

std::string told(const Result<HostInventory>& hosts) {
  return hosts ? "accepted\n" : told(hosts.error());
}

// What is legal may still be refused by a command.
template <class Read>
std::string told_of(const Read& read) {
  const Result<ExperimentConfig> checked = read(ReadFor::checking);
  if (!checked) return told(checked.error());
  const Result<ExperimentConfig> planned = read(ReadFor::planning);
  if (!planned) return "plan and launch refuse it: " + told(planned.error());
  const Result<ExperimentConfig> launched = read(ReadFor::launching);
  return launched ? "accepted\n" : "launch alone refuses it: " + told(launched.error());
}

std::string what_is_told(const fs::path& folder) {
  const Arguments arguments =
      fs::exists(folder / "args") ? read_arguments(folder / "args") : Arguments{};
  if (arguments.host_list) return told(parse_host_list({"-H", *arguments.host_list}));
  if (fs::exists(folder / "hosts")) return told(parse_hosts({"hosts", slurp(folder / "hosts")}));
  if (!fs::exists(folder / "experiment.yaml"))
    return told_of([&](ReadFor purpose) { return make_experiment(arguments.overrides, purpose); });
  const SourceText source{"experiment.yaml", slurp(folder / "experiment.yaml")};
  return told_of(
      [&](ReadFor purpose) { return parse_experiment(source, arguments.overrides, purpose); });
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
