// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/text/error.hpp"
#include "config_schema/text/place.hpp"
#include "config_schema/yaml/yaml_node.hpp"

namespace train {

/// What a user has set for all commands: `~/.config/train/config.yaml`.
struct UserFile {
  ExperimentDefaults defaults;  ///< a legal experiment, except that it may have no entrypoint
  /// A mapping from names of options, and from names of commands to such mappings; not checked:
  /// the command line knows the names. Null if there is none.
  YamlNodePtr flags;
};

/// Reads the text of such a file. Errors are of class `config`, with their places.
Result<UserFile> parse_user_file(const SourceText& source);

}  // namespace train
