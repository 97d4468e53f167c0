// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/experiment/experiment_config.hpp"
#include "launcher/search/trial_sampler.hpp"

namespace train {

/// The experiment for one trial of its search: with its hyperparameters, including
/// `global_batch_size`, and its seed. It has no searched hyperparameters left.
ExperimentConfig trial_experiment(const ExperimentConfig& experiment, const TrialSample& sample);

}  // namespace train
