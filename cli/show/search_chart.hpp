// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/text/error.hpp"
#include "launcher/journal/search_record.hpp"
#include "launcher/picture/metric_chart.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// What the trials of a search have reported, metric over step: a line for each that has reported
/// its metric as a finite number. The best comes first, then those that run, then the better ones.
/// Class `no_input` where there is none.
Result<MetricChart> chart_of(const TaskRecord& task, const SearchRecord& search);

}  // namespace train
