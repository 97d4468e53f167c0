// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/fields/field_reader.hpp"

namespace train {

/// The policies that look for lines of output. One without a pattern takes a policy of the
/// cluster's away in Determined, and is left out here. A pattern that is no expression of RE2's, a
/// name that is given twice, and `action` beside `actions` are errors.
std::vector<LogPolicy> read_log_policies(const FieldReader& fields, Diagnostics& diagnostics);

}  // namespace train
