// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// `train report NAME=VALUE... [--step N]`: appends a report to the metrics file of the rank that
/// this runs for. Returns what to tell where there is none: outside of a task a script goes on.
/// Class `usage` where it is no report, `host` where the file cannot be written.
Result<std::string> write_report(const std::vector<std::string>& words,
                                 const std::optional<std::string>& step);

/// The same of all that follows `report` on a command line.
Result<std::string> write_report(const std::vector<std::string>& arguments);

}  // namespace train
