// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/experiment/experiment_config.hpp"
#include "launcher/search/trial_sampler.hpp"

namespace train {

/// The experiment as one trial of its search runs it: with its hyperparameters, the
/// `global_batch_size` among them, and its seed. There is nothing left to choose in it.
ExperimentConfig trial_experiment(const ExperimentConfig& experiment, const TrialSample& sample);

}  // namespace train
