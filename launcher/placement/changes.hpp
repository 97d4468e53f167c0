// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/plan/plan.hpp"

namespace train {

/// Single changes of the experiment with which it would fit idle hosts, as options for the command
/// line. Each was verified by planning the changed experiment. The mildest first, a few at most;
/// empty if no single change is enough.
std::vector<Change> changes_that_fit(const ExperimentConfig& experiment,
                                     const HostInventory& inventory);

// Options for the command line that change an experiment, quoted for a shell. Each sets a key where
// the user wrote it, so that it overrides the experiment's file and earlier options.

/// "--set resources.placement=pack". `path` is the key's own path in the table of fields, not an
/// alias; `yaml` is its new value: "null" removes the present value.
std::string set_key(const ExperimentConfig& experiment, std::string_view path,
                    const std::string& yaml);

/// "--set 'resources.resources_per_worker={CPU: 2, GPU: 0.5}'": all needs of a worker.
std::string set_worker_needs(const ExperimentConfig& experiment, const WorkerNeeds& needs);

/// "-n 4" if that option gave the number of slots, else "--set resources.slots_per_trial=4"; empty
/// if the request does not count slots.
std::string set_slots(const ExperimentConfig& experiment, Quantity slots);

/// A text as a YAML value, in quotes if it would otherwise not be a single string.
std::string yaml_string(const std::string& text);

}  // namespace train
