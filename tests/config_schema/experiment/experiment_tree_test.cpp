// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/experiment_tree.hpp"

#include <random>

#include "config_schema/yaml/yaml_document.hpp"
#include "config_schema/yaml/yaml_writer.hpp"
#include "tests/catch.hpp"
#include "tests/config_schema/case_files.hpp"
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

using namespace train::testing;

namespace {

constexpr const char* source_name = "experiment.yaml";

std::string show(const std::string& text, const ExperimentOverrides& overrides = {},
                 YamlComments comments = YamlComments::none) {
  const auto shown = effective_experiment({source_name, text}, overrides);
  if (!shown) FAIL(render(shown.error()));
  return yaml_text(**shown, comments);
}

// What counts of an experiment: not where it was written.
ExperimentConfig meaning_of(const std::string& text, const ExperimentOverrides& overrides = {}) {
  auto config = parse_experiment({source_name, text}, overrides, ReadFor::checking);
  if (!config) FAIL(render(config.error()));
  config->warnings.clear();
  if (config->checkpoints.has_secrets) config->checkpoints.json.clear();  // they are not shown
  for (EnvironmentVariable& variable : config->environment) variable.place = {};
  for (Obstacle& obstacle : config->obstacles) obstacle.diagnostic.place = {};
  std::sort(config->obstacles.begin(), config->obstacles.end(),
            [](const Obstacle& left, const Obstacle& right) {
              return left.diagnostic.key < right.diagnostic.key;
            });
  return *config;
}

void check_round_trip(const std::string& text, const ExperimentOverrides& overrides = {}) {
  const std::string shown = show(text, overrides);
  INFO(shown);
  CHECK(meaning_of(shown) == meaning_of(text, overrides));
  CHECK(show(shown) == shown);
}

}  // namespace

TEST_CASE("what is shown reads back to the same experiment") {
  for (const auto& file : sorted_entries(TRAIN_ACCEPTED)) {
    INFO(file.filename().string());
    check_round_trip(slurp(file));
  }
}

TEST_CASE("any mixture of settings is shown so that it reads back") {
  const std::vector<std::string> settings = {
      "name=x",
      "description=\"a: b # c\"",
      "labels=[a, 'yes', \"1\"]",
      "data={a: [1, {b: 2.5}]}",
      "data.t=\"multi\\nline\\ttab\"",
      "hyperparameters.lr=1e-3",
      "hyperparameters.deep.er=[[], {}]",
      "hyperparameters.s='012'",
      "hyperparameters.global_batch_size=64",
      "global_batch_size=64",
      "resources.slots_per_trial=4",
      "num_workers=4",
      "resources.placement=spread",
      "scaling_config.num_workers=4",
      "scaling_config.placement_strategy=SPREAD",
      "resources_per_worker={CPU: 2, memory: 1GiB}",
      "scaling_config.use_gpu=true",
      "scaling_config.trainer_resources={CPU: 1}",
      "scaling_config.trainer_resources={CPU: 0}",
      "use_gpu=true",
      "torch_config.backend=gloo",
      "runtime_env={working_dir: ., env_vars: {D: a}}",
      "environment.variables.A='on'",
      "environment.variables.B=null",
      "environment.image=a:b",
      "environment.environment_variables=[C=1]",
      "forward_environment=[]",
      "stop_grace=500ms",
      "searcher={name: single}",
      "searcher={name: random, metric: m, max_trials: 3}",
      "searcher={name: adaptive_asha, metric: m, max_trials: 3, max_length: 7}",
      "hyperparameters.n={type: int, minval: 1, maxval: 3}",
      "max_restarts=2",
      "framework=jax",
      "optimizations.gradient_compression=true",
      "processes=per_host",
      "entrypoint=torchrun a.py",
      "entrypoint=[sh, -c, 'echo \"$HOME\"']",
      "bind_mounts=[{host_path: /a, container_path: b}]",
      "resources.batch_remainder=spread",
      "cpu_binding=socket",
      "project=p",
      "slurm.gpu_type=t"};
  std::mt19937 random(20'261'121);
  int accepted = 0;
  for (int round = 0; round < 600; ++round) {
    ExperimentOverrides overrides;
    std::string said;
    for (int count = static_cast<int>(random() % 7); count >= 0; --count) {
      overrides.settings.push_back(settings[random() % settings.size()]);
      said += overrides.settings.back() + "\n";
    }
    const std::string base = "entrypoint: python3 train.py\n";
    if (!parse_experiment({source_name, base}, overrides, ReadFor::checking)) continue;
    INFO(said);
    check_round_trip(base, overrides);
    ++accepted;
  }
  CHECK(accepted >= 200);
}

TEST_CASE("each value says where it came from") {
  ExperimentOverrides overrides;
  overrides.settings = {"resources.placement=pack"};
  overrides.slots = 8;
  const std::string shown =
      show("name: a\nentrypoint: python3 train.py\n", overrides, YamlComments::origins);
  const auto line = [&](const std::string& key) {
    std::istringstream lines(shown);
    for (std::string text; std::getline(lines, text);)
      if (text.find(key) != text.npos) return text.substr(text.find_last_of('#'));
    return std::string("not shown");
  };
  CHECK(line("name: a") == "# experiment.yaml:1");
  CHECK(line("placement: pack") == "# --set");
  CHECK(line("slots_per_trial: 8") == "# -n");
  CHECK(line("framework: torch") == "# default");
}

TEST_CASE("logins are not shown") {
  const std::string shown = show(
      "checkpoint_storage: {type: s3, bucket: b, access_key: hidden1, secret_key: hidden2}\n"
      "environment: {registry_auth: {username: me, password: hidden3}}\n");
  CHECK(shown.find("hidden") == shown.npos);
  CHECK(shown.find("secret_key: \"(redacted)\"") != shown.npos);
  CHECK(shown.find("username: me") != shown.npos);
}

TEST_CASE("a default is shown only where it changes nothing") {
  CHECK(show("entrypoint: torchrun a.py\n").find("processes") == std::string::npos);
  CHECK(show("scaling_config: {num_workers: 2}\n").find("placement: pack") != std::string::npos);
  CHECK(show("name: x\n").find("scaling_config") == std::string::npos);
  CHECK(show("searcher: {name: single}\n").find("max_concurrent_trials") == std::string::npos);
}

TEST_CASE("keys of the user's own are not shown, and what they hold is where it is used") {
  const std::string shown = show("x-few: &few {slots_per_trial: 4}\nresources: *few\n");
  CHECK(shown.find("x-few") == shown.npos);
  CHECK(shown.find("slots_per_trial: 4") != shown.npos);
}

TEST_CASE("an experiment that is refused is not shown") {
  const auto shown = effective_experiment({source_name, "slots_per_trial: -1\n"}, {});
  REQUIRE_FALSE(shown);
  CHECK(shown.error().error_class == ErrorClass::config);
}
