// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/overrides.hpp"

#include "config_schema/yaml/yaml_document.hpp"
#include "config_schema/yaml/yaml_text.hpp"
#include "tests/config_schema/reading.hpp"

using namespace train;
using train::testing::read_experiment;

namespace {

std::string after(const std::string& yaml, std::vector<std::string> settings) {
  const auto root = read_yaml({"x", yaml}, ErrorClass::config);
  REQUIRE(root);
  ExperimentOverrides overrides;
  overrides.settings = std::move(settings);
  const auto changed = apply_overrides(*root, overrides);
  return changed ? json_text(**changed) : "error: " + changed.error().diagnostics[0].message;
}

}  // namespace

TEST_CASE("settings change one value and leave the rest") {
  CHECK(after("{a: 1, b: {c: 2, d: 3}}", {"b.c=5"}) == R"({"a": 1, "b": {"c": 5, "d": 3}})");
  CHECK(after("{a: 1}", {"b.c.d=x"}) == R"({"a": 1, "b": {"c": {"d": "x"}}})");
  CHECK(after("{a: ~}", {"a.b=1"}) == R"({"a": {"b": 1}})");
  CHECK(after("", {"a=1", "a=2"}) == R"({"a": 2})");
  CHECK(after("{a: 1}", {"a="}) == R"({"a": null})");
}

TEST_CASE("settings are typed as YAML is") {
  CHECK(after("", {"a=1"}) == R"({"a": 1})");
  CHECK(after("", {"a='1'"}) == R"({"a": "1"})");
  CHECK(after("", {"a=[1, {b: c}]"}) == R"({"a": [1, {"b": "c"}]})");
  CHECK(after("", {"a=x=y"}) == R"({"a": "x=y"})");
  CHECK(after("", {"a=yes"}) == R"({"a": "yes"})");
}

TEST_CASE("settings reach into lists by index") {
  CHECK(after("{a: [x, y]}", {"a.1=z"}) == R"({"a": ["x", "z"]})");
  CHECK(after("{a: [x]}", {"a.1=z"}) == R"({"a": ["x", "z"]})");
  CHECK(after("{a: [{b: 1}]}", {"a.0.b=2"}) == R"({"a": [{"b": 2}]})");
  CHECK(after("{a: [x]}", {"a.2=z"}).find("error:") == 0);
  CHECK(after("{a: [x]}", {"a.-1=z"}).find("error:") == 0);
  CHECK(after("{a: x}", {"a.b=z"}).find("error:") == 0);
}

TEST_CASE("a setting without '=' is wrong use of the command line") {
  for (const char* setting : {"a.b", "=1", "a..b=1", ".a=1", ""}) {
    INFO(setting);
    const auto root = apply_overrides(std::make_shared<YamlNode>(), {.settings = {setting}});
    REQUIRE_FALSE(root);
    CHECK(root.error().error_class == ErrorClass::usage);
    CHECK(root.error().diagnostics[0].place.source == "--set");
  }
}

TEST_CASE("errors in a setting point into it") {
  const auto config = parse_experiment({"x.yaml", "entrypoint: a\n"},
                                       {.settings = {"resources.slots_per_trial=no"}});
  REQUIRE_FALSE(config);
  const Place& place = config.error().diagnostics[0].place;
  CHECK(place.source == "--set");
  CHECK(place.column == 27);
  CHECK(place.text == "resources.slots_per_trial=no");
}

TEST_CASE("errors of the file come before those of flags") {
  const auto config =
      parse_experiment({"x.yaml", "entrypoint: a\nbackend: b\n"}, {.settings = {"zebra=no"}});
  REQUIRE_FALSE(config);
  REQUIRE(config.error().diagnostics.size() == 2);
  CHECK(config.error().diagnostics[0].place.source == "x.yaml");
}

TEST_CASE("--batch is what the hyperparameters say, too") {
  ExperimentOverrides overrides;
  overrides.global_batch = 128;
  const auto config = read_experiment("hyperparameters: {global_batch_size: 64}", overrides);
  CHECK(config.global_batch_size == 128u);
  CHECK(config.hyperparameters_json == R"({"global_batch_size": 128})");
  CHECK(read_experiment("global_batch_size: 64", overrides).global_batch_size == 128u);
  CHECK(read_experiment("", overrides).global_batch_size == 128u);
}

TEST_CASE("a flag wins over the other place for the same value") {
  ExperimentOverrides overrides;
  overrides.settings = {"resources.slots_per_trial=2"};
  CHECK(read_experiment("slots_per_trial: 8", overrides).workers == 2);
}

TEST_CASE("what follows -- is appended, or is the entrypoint") {
  ExperimentOverrides overrides;
  overrides.command = {"--lr", "a b"};
  CHECK(read_experiment("entrypoint: run x", overrides).entrypoint.shell == "run x --lr 'a b'");
  CHECK(read_experiment("entrypoint: [run]", overrides).entrypoint.argv ==
        std::vector<std::string>{"run", "--lr", "a b"});
  overrides.command = {"/opt/my train.sh", "x"};
  overrides.slots = 4;
  const auto config = make_experiment(overrides);
  REQUIRE(config);
  CHECK(config->entrypoint.argv == overrides.command);
  CHECK(config->name == "my train");
  CHECK(config->workers == 4);
  CHECK(config->needs.slots == Quantity::of(1));
}
