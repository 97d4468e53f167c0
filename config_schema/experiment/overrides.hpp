// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/yaml/yaml_node.hpp"

namespace train {

/// The tree with `--set` settings, `-n` and `--batch` applied, in this order. A setting creates the
/// mappings on its way; a number names an item of a list, the one after the last appends. Nodes
/// that a flag brought carry the flag as their place. A setting without `=` is of class `usage`; a
/// path that leads through a scalar or beyond a list is of class `config`.
Result<YamlNodePtr> apply_overrides(YamlNodePtr root, const ExperimentOverrides& overrides);

}  // namespace train
