// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/fields/field_reader.hpp"

namespace train {

/// Reads `metrics`. An invalid RE2 expression, and a pattern without a named group, are errors.
MetricsConfig read_metrics(const FieldReader& fields, Diagnostics& diagnostics);

}  // namespace train
