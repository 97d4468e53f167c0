// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/yaml/yaml_node.hpp"

namespace train {

/// The tree with `--set` settings, `-n`, `--batch` and `--max-runtime` applied, in this order. A
/// setting creates the mappings that its path needs; a number in the path is an item of a list, and
/// the number after the last one appends. Nodes that come from a flag have the flag as their place.
/// A setting without `=` is of class `usage`; a path that leads through a scalar or beyond a list
/// is of class `config`.
Result<YamlNodePtr> apply_overrides(YamlNodePtr root, const ExperimentOverrides& overrides);

/// Lays the defaults of the user below an experiment. A default of a section fills in its missing
/// keys; all else that the experiment gives counts whole, as null, under another name of the same
/// key, or with another kind of section as well. Errors are of class `config`.
Result<YamlNodePtr> with_defaults(YamlNodePtr root, const ExperimentDefaults& defaults,
                                  Diagnostics& faults);

/// The tree of an experiment as it is read: defaults, merge keys and overrides applied, nothing
/// else checked. Its marks give the origin of each value. Faults that leave a usable tree
/// (duplicate keys) go to `faults`.
Result<YamlNodePtr> read_experiment_tree(const SourceText& source,
                                         const ExperimentOverrides& overrides, Diagnostics& faults);

/// An experiment with all effective values: those of the file and the overrides, and defaults for
/// the rest, in the order of the manual. Reading it gives the same experiment. Credentials of other
/// services are replaced by "(redacted)". The mark of a default has the text "default".
Result<YamlNodePtr> effective_experiment(const SourceText& source,
                                         const ExperimentOverrides& overrides);

}  // namespace train
