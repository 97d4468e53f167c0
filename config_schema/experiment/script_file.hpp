// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/diagnostics.hpp"
#include "config_schema/text/place.hpp"
#include "config_schema/yaml/yaml_node.hpp"

namespace train {

/// The command for a script whose name gives its language: ["python3", "prog.py"] for "prog.py".
/// Empty for any other name.
std::vector<std::string> command_of_script(std::string_view path);

/// The diagnostic for a text that is a program where an experiment was expected, with the command
/// that launches it; nothing if the text may be an experiment. `tree` is the text parsed as YAML;
/// nullptr if it cannot be parsed.
std::optional<Diagnostic> find_program_text(const SourceText& source, const YamlNode* tree);

}  // namespace train
