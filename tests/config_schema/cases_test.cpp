// SPDX-License-Identifier: Apache-2.0
// Golden cases: tests/cases/TOPIC/FAULT/ holds an experiment.yaml, a hosts file or the environment
// of a scheduler's job with one fault, perhaps `args` with one flag a line, and error.txt, what the
// user is told. TRAIN_REGENERATE=1 writes the error.txt files anew; look at the difference before
// you commit it.
#include <cstdlib>
#include <fstream>

#include "tests/catch.hpp"
#include "tests/config_schema/case_files.hpp"

using namespace train;
using namespace train::testing;

namespace {

namespace fs = std::filesystem;

std::string told(const Error& error) {
  return "[" + std::string(to_string(error.error_class)) + "]\n" + render(error, 100) + "\n";
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

std::string told_of_hosts(Result<HostInventory> hosts, const Case& one) {
  if (hosts && one.filter)
    hosts = filter_hosts(std::move(*hosts), one.filter->first, one.filter->second);
  return hosts ? "accepted\n" : told(hosts.error());
}

std::string told_of_allocation(const fs::path& folder, const EnvironmentMap& environment) {
  const auto allocation =
      read_allocation(environment, [&](const std::string& name) -> Result<std::string> {
        if (fs::exists(folder / name)) return slurp(folder / name);
        return fail(ErrorClass::no_input,
                    "cannot read the hosts file '" + name + "': no such file");
      });
  return allocation ? "accepted\n" : told(allocation.error());
}

std::string what_is_told(const fs::path& folder) {
  const Case one = read_case(folder);
  if (one.environment) return told_of_allocation(folder, *one.environment);
  if (one.host_list) return told_of_hosts(parse_host_list({"-H", *one.host_list}), one);
  if (one.hosts) return told_of_hosts(parse_hosts({"hosts", *one.hosts}), one);
  if (!one.experiment)
    return told_of([&](ReadFor purpose) { return make_experiment(one.overrides, purpose); });
  const SourceText source{"experiment.yaml", *one.experiment};
  return told_of([&](ReadFor purpose) { return parse_experiment(source, one.overrides, purpose); });
}

}  // namespace

TEST_CASE("every fault is told as its case says") {
  const bool regenerates = std::getenv("TRAIN_REGENERATE") != nullptr;
  const auto folders = case_folders();
  REQUIRE(folders.size() >= 150);
  for (const fs::path& folder : folders) {
    INFO(folder.filename().string());
    const std::string said = what_is_told(folder);
    if (regenerates) std::ofstream(folder / "error.txt", std::ios::binary) << said;
    CHECK(said == slurp(folder / "error.txt"));
    CHECK(said != "accepted\n");
  }
}
