// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "launcher/output/metrics_watch.hpp"
#include "launcher/output/printed_reports.hpp"
#include "launcher/wire/output_chunk.hpp"

namespace train {

/// The reports that a piece of a kept log completes.
using ReportLook = std::function<std::vector<MetricsReport>(OutputChunk chunk)>;

/// In metrics logs, also in gaps, which do not say what they are of. The watch must outlive it.
inline ReportLook look_in_metrics(MetricsWatch& watch) {
  return [&watch](OutputChunk chunk) {
    chunk.stream = OutputStream::metrics;
    return watch.look(chunk);
  };
}

/// In logs of what ranks print. The patterns must outlive it.
inline ReportLook look_in_output(PrintedReports& printed) {
  return [&printed](const OutputChunk& chunk) { return printed.look(chunk); };
}

}  // namespace train
