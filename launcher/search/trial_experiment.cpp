// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/trial_experiment.hpp"

#include <nlohmann/json.hpp>

namespace train {

ExperimentConfig trial_experiment(const ExperimentConfig& experiment, const TrialSample& sample) {
  ExperimentConfig trial = experiment;
  trial.hyperparameters_json = sample.hyperparameters_json;
  trial.trial_seed = sample.seed;
  trial.searched.clear();
  trial.search_config.reset();
  const auto values = nlohmann::json::parse(sample.hyperparameters_json, nullptr, false);
  const auto batch = values.is_object() ? values.find("global_batch_size") : values.end();
  if (batch != values.end() && batch->is_number_unsigned())
    trial.global_batch_size = batch->get<std::uint64_t>();
  return trial;
}

}  // namespace train
