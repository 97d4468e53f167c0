// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/text/environment_map.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/task/rerun_request.hpp"

namespace train {

/// The variables of --env-file, --env and --secret, in this order: the last one of a name counts.
struct GivenEnvironment {
  /// Without a value where it is secret: then `secrets` has it, or the launcher's environment.
  std::vector<EnvironmentVariable> variables;
  EnvironmentMap secrets;  ///< the values from files
};

/// Reads the files that the flags name. Class `usage` for a malformed flag, `no_input` for a file
/// that cannot be read, `config` for a malformed one.
Result<GivenEnvironment> read_given_environment(const EnvironmentFlags& flags);

}  // namespace train
