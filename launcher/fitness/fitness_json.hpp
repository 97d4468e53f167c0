// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/fitness/verdict.hpp"

namespace train {

/// `train check --json`: one document, as config_schema/fields/check.schema.json describes it.
std::string fitness_document(const std::vector<CheckedHost>& hosts,
                             const std::vector<HostFinding>& findings);

}  // namespace train
