// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/plan/plan.hpp"

namespace train {

/// Single changes of the experiment with which it would fit idle hosts, as options of the command
/// line that name all that was changed, each of them verified by planning the changed experiment.
/// The mildest first, a few at most; none when no single change is enough.
std::vector<Change> changes_that_fit(const ExperimentConfig& experiment,
                                     const HostInventory& inventory);

// Options of the command line that change an experiment, quoted for a shell. Each sets a key where
// the user wrote it, so that it wins over the experiment's file and over options before it.

/// "--set resources.placement=pack". `path` is the key's own in the table of fields, not that of
/// another place for it; `yaml` is its new value: "null" takes away what is written.
std::string set_key(const ExperimentConfig& experiment, std::string_view path,
                    const std::string& yaml);

/// "--set 'resources.resources_per_worker={CPU: 2, GPU: 0.5}'": all that a worker takes.
std::string set_worker_needs(const ExperimentConfig& experiment, const WorkerNeeds& needs);

/// "-n 4" where that option counted the slots, else "--set resources.slots_per_trial=4"; empty
/// where nothing counts them.
std::string set_slots(const ExperimentConfig& experiment, Quantity slots);

/// A text as a YAML value, in quotes where without them it would be no string or no single value.
std::string yaml_string(const std::string& text);

}  // namespace train
