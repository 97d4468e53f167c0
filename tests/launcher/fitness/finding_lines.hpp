// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/fitness/verdict.hpp"
#include "tests/catch.hpp"

namespace train::testing {

/// Findings of one check, each with a next step: "node02 unfit: ...".
inline std::vector<std::string> lines_of(const std::vector<HostFinding>& findings,
                                         const std::vector<CheckedHost>& hosts, const char* check) {
  std::vector<std::string> lines;
  for (const HostFinding& each : findings) {
    CHECK(each.check == check);
    CHECK_FALSE(each.hint.empty());
    lines.push_back(hosts[each.host].host.name + " " + std::string(to_string(each.fitness)) + ": " +
                    each.message);
  }
  return lines;
}

}  // namespace train::testing
