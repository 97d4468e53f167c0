// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/text/error.hpp"
#include "launcher/journal/search_record.hpp"
#include "launcher/picture/metric_chart.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// The reports of the trials of a search, metric over step: a line for each trial that has reported
/// its metric as a finite number. The best trial comes first, then running ones, then the others
/// from better to worse. Class `no_input` if there is none.
Result<MetricChart> chart_of(const TaskRecord& task, const SearchRecord& search);

/// How a chart shows the line of a trial in this state.
LineKind line_kind(TrialState state);

}  // namespace train
