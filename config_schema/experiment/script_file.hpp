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

/// The words that run a script whose name says in which language it is: ["python3", "prog.py"] of
/// "prog.py". Empty for any other name.
std::vector<std::string> command_of_script(std::string_view path);

/// What to say of a text that is a program where an experiment was expected, with the command that
/// launches it; nothing when it may be an experiment. `tree` is what was read of it as YAML;
/// nullptr when it cannot be read.
std::optional<Diagnostic> find_program_text(const SourceText& source, const YamlNode* tree);

}  // namespace train
