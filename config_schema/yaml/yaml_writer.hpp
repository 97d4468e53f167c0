// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config_schema/yaml/yaml_node.hpp"

namespace train {

/// Which comments are written after values.
enum class YamlComments { none, origins };

/// A tree as YAML in block style that reads back to the same values; ends with a newline. With
/// `origins`, each value has its origin as a comment: "# experiment.yaml:3", "# --set".
std::string yaml_text(const YamlNode& root, YamlComments comments);

/// A YAML value as JSON on one line, keys in file order. Integers keep all their digits, reals stay
/// reals (`32.0`), both in the shortest form that reads back to the same number. NaN and
/// infinities, which JSON lacks, become null: callers must refuse them before.
std::string json_text(const YamlNode& node);

/// A real number as `json_text` writes it.
std::string json_real(double value);

}  // namespace train
