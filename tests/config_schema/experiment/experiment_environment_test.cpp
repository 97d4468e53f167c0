// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/experiment_environment.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

using Pairs = std::vector<std::pair<std::string, std::optional<std::string>>>;

Pairs pairs_of(const std::vector<EnvironmentVariable>& variables) {
  Pairs pairs;
  for (const EnvironmentVariable& variable : variables)
    pairs.emplace_back(variable.name, variable.value);
  return pairs;
}

ExperimentConfig experiment_of(const std::string& text,
                               const std::vector<EnvironmentVariable>& overrides = {}) {
  const auto experiment =
      parse_experiment({"x.yaml", "entrypoint: 'true'\n" + text}, {.environment = overrides});
  REQUIRE(experiment);
  return *experiment;
}

}  // namespace

TEST_CASE("a file of variables has a variable a line, as shells and Docker write them") {
  const auto variables = parse_variables({"v",
                                          "A=1\n\n  # no\nexport B='x y'\r\nC=\"q\nD\nE= a=b \nF=\n"
                                          "G=\"\"\nH=$A"});
  REQUIRE(variables);
  CHECK(pairs_of(*variables) == Pairs{{"A", "1"},
                                      {"B", "x y"},
                                      {"C", "\"q"},
                                      {"D", std::nullopt},
                                      {"E", " a=b"},
                                      {"F", ""},
                                      {"G", ""},
                                      {"H", "$A"}});
  CHECK(variables->back().place.line == 10);
}

TEST_CASE("all lines that are no variables are named, and not shown") {
  const auto variables = parse_variables({"v", std::string("two words\n=x\nA=1\nB=\0\n", 21)});
  REQUIRE_FALSE(variables);
  const auto& faults = variables.error().diagnostics;
  REQUIRE(faults.size() == 3);
  CHECK(faults[0].place.line == 1);
  CHECK(faults[1].place.line == 2);
  CHECK(faults[2].place.line == 4);
  for (const Diagnostic& fault : faults) {
    CHECK(fault.message.find("words") == std::string::npos);
    CHECK(fault.place.text.empty());
  }
}

TEST_CASE("variables of the command line replace those of the file") {
  const auto experiment =
      experiment_of("environment: {variables: {A: file, B: file}}\n",
                    {{"B", "flag", {}}, {"C", std::nullopt, {}}, {"C", "last", {}}});
  CHECK(pairs_of(experiment.environment) == Pairs{{"A", "file"}, {"B", "flag"}, {"C", "last"}});
  CHECK(experiment.warnings.empty());
}

TEST_CASE("secrets are names without values") {
  const auto experiment = experiment_of("secrets: [TOKEN, KEY]\n", {{"KEY", "typed", {}}});
  CHECK(pairs_of(experiment.environment) == Pairs{{"TOKEN", std::nullopt}, {"KEY", "typed"}});
  CHECK_FALSE(parse_experiment({"x.yaml", "entrypoint: x\nsecrets: [TOKEN=abc]\n"}));
  CHECK_FALSE(parse_experiment(
      {"x.yaml", "entrypoint: x\nsecrets: [T]\nenvironment: {variables: {T: value}}\n"}));
}
