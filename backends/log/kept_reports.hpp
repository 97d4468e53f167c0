// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// The reports that these ranks have made in an attempt, as their logs have them: a JSON object on
/// one line each (`metrics_of_line`), in the order of their times. Those of their metrics files,
/// and what the patterns find in what they have printed (`PrintedReports`). None where they have
/// made none. Class `no_input` where a log cannot be read.
Result<std::vector<std::string>> kept_reports(const std::string& log_directory,
                                              const std::vector<int>& ranks, int attempt,
                                              const std::vector<std::string>& patterns = {});

}  // namespace train
