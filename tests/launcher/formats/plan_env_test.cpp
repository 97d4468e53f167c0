// SPDX-License-Identifier: Apache-2.0
#include "launcher/formats/formats.hpp"

#include "tests/contains.hpp"
#include "tests/launcher/picture/scene.hpp"

using namespace train;
using train::testing::contains;

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

}  // namespace

TEST_CASE("every rank has a block, and one rank can be chosen") {
  const std::string all = blocks_of({});
  CHECK(all.find("# rank 0 on n1\n") == 0);
  CHECK(contains(all, "\n\n# rank 1 on n1\n"));
  CHECK(blocks_of({}, 0) + "\n" + blocks_of({}, 1) == all);
  CHECK(contains(blocks_of({}, 1), "export RANK='1'\n"));
}

TEST_CASE("values keep their quotes and lines") {
  CHECK(contains(blocks_of({{"V", "it's\n$HOME `x` \\", {}}}),
                 "export V='it'\\''s\n$HOME `x` \\'\n"));
}

TEST_CASE("what a shell cannot set is a comment of one line") {
  const std::string text = blocks_of({{"a\ntouch /tmp/x; b", "1", {}},
                                      {"UID", "0", {}},
                                      {"9LIVES", "1", {}},
                                      {"with-dash", "1", {}}},
                                     0);
  CHECK(contains(text, "\n# UID is set, which a shell cannot do\n"));
  CHECK(contains(text, "\n# 9LIVES is set, which a shell cannot do\n"));
  CHECK(contains(text, "\n# with-dash is set, which a shell cannot do\n"));
  CHECK(contains(text, "\n# a\\x0atouch /tmp/x; b is set, which a shell cannot do\n"));
  CHECK_FALSE(contains(text, "\ntouch"));
}
