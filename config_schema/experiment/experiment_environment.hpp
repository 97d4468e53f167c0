// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/fields/field_reader.hpp"

namespace train {

/// Whether a variable of that name can exist: not empty, no '=', no zero byte.
bool is_variable_name(std::string_view name);

/// Reads a mapping of `name: value` into variables; a null value means the launcher's value. Values
/// keep their written form (`012` stays `012`).
std::vector<EnvironmentVariable> read_variables(const YamlNode& mapping, const std::string& path,
                                                Diagnostics& diagnostics);

/// The variables of `environment.variables`, `environment.environment_variables` (a list of
/// NAME=VALUE, a mapping, or Determined's map by device: `cuda` for trials with slots, else `cpu`)
/// and Ray's `runtime_env.env_vars`.
void read_environment(const FieldReader& fields, Diagnostics& diagnostics,
                      ExperimentConfig& config);

/// The folder of Ray's `runtime_env.working_dir`; an address is refused.
void read_context(const FieldReader& fields, Diagnostics& diagnostics, ExperimentConfig& config);

}  // namespace train
