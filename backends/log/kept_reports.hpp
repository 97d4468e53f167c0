// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// The reports of these ranks in an attempt, read from their logs: one JSON object each, on one
/// line (`metrics_of_line`), ordered by time. They come from the metrics files, and from matches of
/// the patterns in the printed output (`PrintedReports`). Empty when there are none. Class
/// `no_input` when a log cannot be read.
Result<std::vector<std::string>> kept_reports(const std::string& log_directory,
                                              const std::vector<int>& ranks, int attempt,
                                              const std::vector<std::string>& patterns = {});

}  // namespace train
