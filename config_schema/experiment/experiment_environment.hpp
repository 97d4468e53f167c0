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
/// Ray's `runtime_env.env_vars`, and the names in `secrets`; then `overrides`, which replace them.
void read_environment(const FieldReader& fields, const std::vector<EnvironmentVariable>& overrides,
                      Diagnostics& diagnostics, ExperimentConfig& config);

/// The variables of a file for --env-file. A line is NAME=VALUE, or NAME alone for the launcher's
/// value; `export` before it and a pair of quotes around the value are left out, and a `$` is only
/// a `$`. Empty lines and lines that start with `#` are comments. Errors are of class `config`.
Result<std::vector<EnvironmentVariable>> parse_variables(const SourceText& source);

/// The variable of an argument of --env: NAME=VALUE, or NAME alone for the launcher's value. Class
/// `usage` if the name is none.
Result<EnvironmentVariable> parse_variable(const std::string& argument);

/// The folder of Ray's `runtime_env.working_dir`; an address is refused.
void read_context(const FieldReader& fields, Diagnostics& diagnostics, ExperimentConfig& config);

}  // namespace train
