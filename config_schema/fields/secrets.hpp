// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "config_schema/yaml/yaml_document.hpp"
#include "config_schema/yaml/yaml_node.hpp"

namespace train {

/// Finds the parts of an experiment's text that are values of secret keys (`Field::is_secret`), or
/// of keys of the same names below the user's own `x-...`. `read_yaml_tree` and `read_yaml_flag`
/// then never show them. `path` is the key whose value the text is; empty for a whole experiment.
ConfidentialParts experiment_secrets(const std::string& path = {});

/// Whether the value of this key, or of a mapping around it, is secret.
bool is_secret_path(std::string_view path);

/// The text of a valid experiment with "(redacted)" in place of the values of secret keys.
std::string without_secrets(const std::string& text);

}  // namespace train
