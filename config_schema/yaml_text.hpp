// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config_schema/yaml_node.hpp"

namespace train {

/// What is written behind each value.
enum class YamlComments { none, origins };

/// A tree as YAML in block style that reads back to the same values; ends with a newline. With
/// `origins` each value says where it came from: "# experiment.yaml:3", "# --set".
std::string yaml_text(const YamlNode& root, YamlComments comments);

}  // namespace train
