// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/diagnostics.hpp"
#include "config_schema/yaml_node.hpp"

namespace train {

/// The root of an experiment with `{type: const, val: x}` hyperparameters replaced by x. Ranges and
/// choices (`type: int, double, log, categorical`) need a search, which is not there yet: each is
/// an error, and NaN and infinities are, since JSON cannot carry them.
YamlNodePtr with_plain_hyperparameters(YamlNodePtr root, Diagnostics& diagnostics);

/// Reports NaN and infinities anywhere in a value that becomes JSON.
void check_for_json(const YamlNode& node, const std::string& path, Diagnostics& diagnostics);

}  // namespace train
