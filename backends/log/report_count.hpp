// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// How much counts of the logs of an attempt: so many bytes of each rank's.
struct LogEnds {
  std::vector<std::uint64_t> metrics;
  std::vector<std::uint64_t> printed = {};
};

/// What the reports in the logs of an attempt come to.
struct ReportCount {
  std::uint64_t reports = 0;  ///< of all ranks
  std::uint64_t ignored = 0;  ///< lines that were none
  std::string last_report;    ///< of rank 0, as `MetricsReport` has it; empty: none
  bool is_whole = true;       ///< nothing had to go from the logs
};

/// Counts the reports before these ends of the logs of an attempt: in what each rank has appended
/// to its metrics file as `MetricsWatch` counts them, and, where there are patterns, in what it has
/// printed as `PrintedReports` finds them; the lines that had not ended are nothing. Takes as long
/// as it takes to read the logs, with little memory: any thread may do it, while more is written to
/// them. Stops where `is_unwanted` is set. Fails with class `no_input` when a log cannot be read.
Result<ReportCount> count_reports(const std::string& log_directory, int attempt,
                                  const LogEnds& ends, const std::vector<std::string>& patterns,
                                  const std::atomic<bool>& is_unwanted);

}  // namespace train
