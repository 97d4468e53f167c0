// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// What the metrics logs of an attempt come to.
struct ReportCount {
  std::uint64_t reports = 0;  ///< of all ranks
  std::uint64_t ignored = 0;  ///< lines that were none
  std::string last_report;    ///< of rank 0, as `MetricsReport` has it; empty: none
  bool is_whole = true;       ///< nothing had to go from the logs
};

/// Counts the reports in the first `ends[rank]` bytes of what each rank has appended to its metrics
/// file in this attempt, as `MetricsWatch` counts them; the lines that had not ended are nothing.
/// Takes as long as it takes to read the logs, with little memory: any thread may do it, while more
/// is written to them. Stops where `is_unwanted` is set. Fails with class `no_input` when a log
/// cannot be read.
Result<ReportCount> count_reports(const std::string& log_directory, int attempt,
                                  const std::vector<std::uint64_t>& ends,
                                  const std::atomic<bool>& is_unwanted);

}  // namespace train
