// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/fields/field_reader.hpp"

namespace train {

/// What `metrics` says of reports. A pattern that is no expression of RE2's, or has no named group,
/// is an error.
MetricsConfig read_metrics(const FieldReader& fields, Diagnostics& diagnostics);

}  // namespace train
