// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/fitness/allreduce_verdict.hpp"
#include "launcher/fitness/link_verdict.hpp"
#include "launcher/fitness/verdict.hpp"

namespace train {

/// The document of `train check --json`, described in config_schema/fields/check.schema.json; with
/// the links and NCCL if they were measured.
std::string fitness_document(const std::vector<CheckedHost>& hosts,
                             const std::vector<HostFinding>& findings,
                             const LinkCheck* links = nullptr,
                             const AllReduceCheck* allreduce = nullptr);

}  // namespace train
