// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "launcher/output/metrics_watch.hpp"
#include "launcher/output/printed_reports.hpp"
#include "launcher/wire/output_chunk.hpp"

namespace train {

/// Returns the reports that a piece of a log completes.
using ReportReader = std::function<std::vector<MetricsReport>(OutputChunk chunk)>;

/// For metrics logs. Gaps count too, although their records name no stream. `watch` must outlive
/// the result.
inline ReportReader look_in_metrics(MetricsWatch& watch) {
  return [&watch](OutputChunk chunk) {
    chunk.stream = OutputStream::metrics;
    return watch.look(chunk);
  };
}

/// For logs of printed output. `printed` must outlive the result.
inline ReportReader look_in_output(PrintedReports& printed) {
  return [&printed](const OutputChunk& chunk) { return printed.look(chunk); };
}

}  // namespace train
