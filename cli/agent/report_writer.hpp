// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// `train report NAME=VALUE... [--step N]`: appends a report to the metrics file of the calling
/// rank. Outside of a task there is no such file: then it returns a message for the user, so that a
/// script continues. Class `usage` for an invalid report, `host` if the file cannot be written.
Result<std::string> write_report(const std::vector<std::string>& words,
                                 const std::optional<std::string>& step);

/// The same for all arguments that follow `report` on a command line.
Result<std::string> write_report(const std::vector<std::string>& arguments);

}  // namespace train
