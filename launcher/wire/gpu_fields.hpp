// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "launcher/rendezvous/host_gpus.hpp"

namespace train {

nlohmann::json json_of_gpus(const HostGpus& gpus);
/// Throws `Malformed`, as the readers of json_fields.hpp do: also for more GPUs than any host has,
/// or the same GPU twice.
HostGpus gpus_of_json(const nlohmann::json& value);

}  // namespace train
