// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/picture/metric_chart.hpp"

namespace train {

/// What a trial or rank has reported.
struct ReportedSeries {
  std::string name;    ///< "trial 7", "rank 0"
  std::string remark;  ///< "stopped: lr 0.01"
  LineKind kind = LineKind::running;
  std::vector<std::string> reports;  ///< JSON objects, oldest first
};

/// A chart for each metric.
struct MetricCharts {
  std::vector<MetricChart> charts;
  std::string remark;  ///< what they leave out; may be empty
};

/// A chart for each name under which finite numbers were reported, in the order of their
/// appearance, over the step as a search reads it (`read_trial_report`). `reporters` is "trials" or
/// "ranks".
MetricCharts charts_of(const std::vector<ReportedSeries>& series, const std::string& time_metric,
                       const std::string& reporters);

}  // namespace train
