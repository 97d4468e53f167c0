// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/fields/field_reader.hpp"

namespace train {

/// The policies that search output for lines. A policy without a pattern, which in Determined
/// removes a policy of the cluster, is left out. An invalid RE2 expression, a duplicate name, and
/// `action` beside `actions` are errors.
std::vector<LogPolicy> read_log_policies(const FieldReader& fields, Diagnostics& diagnostics);

}  // namespace train
