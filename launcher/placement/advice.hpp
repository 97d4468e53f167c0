// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/placement/host_search.hpp"
#include "launcher/plan/plan.hpp"

namespace train {

/// What a plan assumes although no file says it, and which parts of the files it does not use: one
/// line each.
std::vector<std::string> placement_warnings(const ExperimentConfig& experiment,
                                            const HostInventory& inventory, const Trial& trial);

/// Warnings about the batch: samples that no rank takes.
std::vector<std::string> batch_warnings(const ExperimentConfig& experiment, const Trial& trial);

/// How a valid plan could be improved: one line each.
std::vector<std::string> advise(const ExperimentConfig& experiment, const HostInventory& inventory,
                                const Holdings& holdings, const HostSearch& search,
                                const Trial& trial);

}  // namespace train
