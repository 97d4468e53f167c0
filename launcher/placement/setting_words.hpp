// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "config_schema/experiment/experiment_config.hpp"

namespace train {

/// Options of the command line that change an experiment, for a shell: what they say wins over the
/// experiment's file and over options before them. Each names a key where the user wrote it.

/// "--set resources.placement=pack": a key by its table path (not by a twin's), and its new value
/// as YAML; "null" takes away what is written.
std::string set_key(const ExperimentConfig& experiment, std::string_view path,
                    const std::string& yaml);

/// "--set 'resources.resources_per_worker={CPU: 2, GPU: 0.5}'": all that a worker takes.
std::string set_worker_needs(const ExperimentConfig& experiment, const WorkerNeeds& needs);

/// "-n 4" where that option counted the slots, else "--set resources.slots_per_trial=4"; empty
/// where nothing counts them.
std::string set_slots(const ExperimentConfig& experiment, Quantity slots);

/// A text as a YAML value, in quotes where it would be no string or no single value without.
std::string yaml_string(const std::string& text);

}  // namespace train
