// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config_schema/hosts/host_inventory.hpp"

namespace train {

/// The hosts of a YAML inventory: a mapping with `hosts`, a list of names (`node[01-04]:8`) and of
/// mappings with the keys of `host_fields()`, and with `defaults` for keys that a host does not
/// set. Faults go to the diagnostics.
std::vector<Host> read_yaml_hosts(const SourceText& source, Diagnostics& diagnostics);

}  // namespace train
