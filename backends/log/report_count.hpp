// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// How many bytes of each rank's logs of an attempt are counted.
struct LogEnds {
  std::vector<std::uint64_t> metrics;
  std::vector<std::uint64_t> printed = {};
};

/// A summary of the reports in the logs of an attempt.
struct ReportCount {
  std::uint64_t reports = 0;  ///< of all ranks
  std::uint64_t ignored = 0;  ///< lines that are not reports
  std::string last_report;    ///< of rank 0, in the form of `MetricsReport`; empty: none
  bool is_whole = true;       ///< no part of the logs is missing
};

/// Counts the reports before these ends of the logs of an attempt: in the metrics file of each
/// rank, as `MetricsWatch` counts them, and, if there are patterns, in its printed output, as
/// `PrintedReports` finds them. Unfinished lines are not counted. Takes as long as reading the
/// logs, with little memory; any thread may call it while the logs are being written. Stops when
/// `is_unwanted` is set. Fails with class `no_input` when a log cannot be read.
Result<ReportCount> count_reports(const std::string& log_directory, int attempt,
                                  const LogEnds& ends, const std::vector<std::string>& patterns,
                                  const std::atomic<bool>& is_unwanted);

}  // namespace train
