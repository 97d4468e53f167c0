// SPDX-License-Identifier: Apache-2.0
#include "launcher/rendezvous/rank_environment.hpp"

#include "tests/launcher/rendezvous/values.hpp"

using namespace train;

namespace {

// A value that makes NAME=value exactly so long.
std::string filled(const std::string& name, std::size_t bytes) {
  return std::string(bytes - name.size() - 1, 'x');
}

std::string json_of_size(const std::string& name, std::size_t bytes) {
  return "\"" + std::string(bytes - name.size() - 3, 'x') + "\"";
}

std::vector<std::string> messages_of(const Plan& plan) {
  std::vector<std::string> messages;
  for (const Diagnostic& fault : oversized_variables(plan)) messages.push_back(fault.message);
  return messages;
}

}  // namespace

TEST_CASE("JSON that fits into a variable is in it, what is longer is in a file") {
  ExperimentConfig experiment = slot_experiment(1);
  experiment.hyperparameters_json = json_of_size("TRAIN_HPARAMS", 131'071);
  experiment.data_json = json_of_size("TRAIN_DATA", 131'071);
  const Values fits = values_of(planned(experiment, gpu_inventory({1})), 0);
  CHECK(value(fits, "TRAIN_HPARAMS") == experiment.hyperparameters_json);
  CHECK(value(fits, "TRAIN_DATA") == experiment.data_json);
  CHECK(value(fits, "TRAIN_HPARAMS_FILE") == "(unset)");
  CHECK(run_files(experiment).empty());

  experiment.hyperparameters_json = json_of_size("TRAIN_HPARAMS", 131'072);
  experiment.data_json = json_of_size("TRAIN_DATA", 131'072);
  const Plan plan = planned(experiment, gpu_inventory({1}));
  const Values files = values_of(plan, 0);
  CHECK(value(files, "TRAIN_HPARAMS") == "(unset)");
  CHECK(value(files, "TRAIN_DATA") == "(unset)");
  CHECK(value(files, "TRAIN_HPARAMS_FILE") == "<hyperparameters_file>");
  CHECK(value(files, "TRAIN_DATA_FILE") == "<data_file>");
  CHECK(run_files(experiment) ==
        std::vector<RunFile>{{"hparams.json", experiment.hyperparameters_json},
                             {"data.json", experiment.data_json}});
  CHECK(messages_of(plan).empty());
}

TEST_CASE("a variable that no kernel takes is refused, wherever it was written") {
  ExperimentConfig experiment = slot_experiment(2);
  HostInventory hosts = gpu_inventory({1, 1});
  experiment.environment = {variable("FITS", filled("FITS", 131'071)),
                            variable("TOO_LONG", filled("TOO_LONG", 131'072))};
  experiment.environment[1].place = {"experiment.yaml", 3, 5, {}};
  hosts.hosts[1].env = {{"OF_HOST", filled("OF_HOST", 131'072)}};
  hosts.hosts[1].place = {"hosts.yaml", 7, 3, {}};
  const Plan plan = planned(experiment, hosts);
  const auto faults = oversized_variables(plan);
  REQUIRE(faults.size() == 2);
  CHECK(render(faults[0]).find("experiment.yaml:3:5: variable TOO_LONG has 131072 bytes, with its "
                               "name; Linux takes 131071") == 0);
  CHECK(render(faults[1]).find("hosts.yaml:7:3: variable OF_HOST") == 0);
  CHECK(plan.warnings.back().message.find("launch refuses this: variable OF_HOST has") == 0);
}

TEST_CASE("an argument that no kernel takes is refused") {
  ExperimentConfig experiment = slot_experiment(1);
  experiment.entrypoint.argv = {"python3", std::string(131'071, 'a')};
  CHECK(messages_of(planned(experiment, gpu_inventory({1}))).empty());
  experiment.entrypoint.argv[1] += 'a';
  CHECK(messages_of(planned(experiment, gpu_inventory({1}))) ==
        std::vector<std::string>{"a word of 'entrypoint' has 131072 bytes; Linux takes 131071 for "
                                 "one argument of a program"});
  experiment.entrypoint = {std::string(131'072, 'a'), {}};
  CHECK(messages_of(planned(experiment, gpu_inventory({1}))).size() == 1);
}

TEST_CASE("more TensorFlow workers than any TF_CONFIG holds are refused before any host is asked") {
  const auto messages = [](int workers) {
    ExperimentConfig experiment = slot_experiment(workers);
    experiment.framework = Framework::tensorflow;
    return messages_of(planned(experiment, gpu_inventory({workers})));
  };
  CHECK(messages(8'000).empty());
  REQUIRE(messages(9'000).size() == 1);
  CHECK(messages(9'000)[0].find("the TF_CONFIG of each of 9000 workers has at least ") == 0);
}
