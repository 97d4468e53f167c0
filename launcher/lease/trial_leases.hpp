// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "launcher/lease/lease.hpp"
#include "launcher/plan/plan.hpp"

namespace train {

/// The leases of a trial on one of its hosts, by its index in `Trial::hosts`: the slots of its
/// workers and of the trainer, shares if workers share a device, and CPUs, memory and custom
/// resources as far as the host declares them and workers ask for them. Ascending by key.
std::vector<LeaseWant> leases_of(const ExperimentConfig& experiment, const Trial& trial, int host);

}  // namespace train
