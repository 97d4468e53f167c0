// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace train {

/// The environment of a process as a value: its variables, by name.
using EnvironmentMap = std::map<std::string, std::string>;

/// The value of a variable; nullptr if it is not set, or empty.
const std::string* find_variable(const EnvironmentMap& environment, const std::string& name);

}  // namespace train
