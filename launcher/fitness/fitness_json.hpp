// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/fitness/allreduce_verdict.hpp"
#include "launcher/fitness/link_verdict.hpp"
#include "launcher/fitness/verdict.hpp"

namespace train {

/// `train check --json`: one document, as config_schema/fields/check.schema.json describes it. The
/// links and NCCL where they were measured.
std::string fitness_document(const std::vector<CheckedHost>& hosts,
                             const std::vector<HostFinding>& findings,
                             const LinkCheck* links = nullptr,
                             const AllReduceCheck* allreduce = nullptr);

}  // namespace train
