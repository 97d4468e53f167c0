// SPDX-License-Identifier: Apache-2.0
#include "launcher/formats/formats.hpp"

#include "tests/launcher/picture/scene.hpp"

using namespace train;

namespace {

std::string blocks_of(std::vector<EnvironmentVariable> variables, std::optional<int> rank = {}) {
  ExperimentConfig experiment = slot_experiment(2);
  experiment.environment = std::move(variables);
  const auto users = resolve_environment(experiment, {});
  REQUIRE(users);
  const auto plan = make_plan(experiment, gpu_inventory({2}), {}, *users);
  REQUIRE(plan);
  return plan_to_env(*plan, rank);
}

bool file_has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every rank has a block, and one rank can be chosen") {
  const std::string all = blocks_of({});
  CHECK(all.find("# rank 0 on n1\n") == 0);
  CHECK(file_has(all, "\n\n# rank 1 on n1\n"));
  CHECK(blocks_of({}, 0) + "\n" + blocks_of({}, 1) == all);
  CHECK(file_has(blocks_of({}, 1), "export RANK='1'\n"));
}

TEST_CASE("values keep their quotes and lines") {
  CHECK(file_has(blocks_of({{"V", "it's\n$HOME `x` \\", {}}}),
                 "export V='it'\\''s\n$HOME `x` \\'\n"));
}

TEST_CASE("what a shell cannot set is a comment of one line") {
  const std::string text = blocks_of({{"a\ntouch /tmp/x; b", "1", {}},
                                      {"UID", "0", {}},
                                      {"9LIVES", "1", {}},
                                      {"with-dash", "1", {}}},
                                     0);
  CHECK(file_has(text, "\n# UID is set, which a shell cannot do\n"));
  CHECK(file_has(text, "\n# 9LIVES is set, which a shell cannot do\n"));
  CHECK(file_has(text, "\n# with-dash is set, which a shell cannot do\n"));
  CHECK(file_has(text, "\n# a\\x0atouch /tmp/x; b is set, which a shell cannot do\n"));
  CHECK_FALSE(file_has(text, "\ntouch"));
}
