// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/experiment_show.hpp"

#include <random>

#include "config_schema/yaml/yaml_text.hpp"
#include "tests/catch.hpp"
#include "tests/config_schema/case_files.hpp"
#include "tests/config_schema/reading.hpp"

using namespace train;
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
      "cpu_binding=cores",
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

TEST_CASE("an experiment that is refused is not shown") {
  const auto shown = effective_experiment({source_name, "slots_per_trial: -1\n"}, {});
  REQUIRE_FALSE(shown);
  CHECK(shown.error().error_class == ErrorClass::config);
}
