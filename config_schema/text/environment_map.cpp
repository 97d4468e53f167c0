// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/environment_map.hpp"

namespace train {

const std::string* find_variable(const EnvironmentMap& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() || found->second.empty() ? nullptr : &found->second;
}

}  // namespace train
