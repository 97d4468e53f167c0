// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/measures/usage_sample.hpp"
#include "launcher/picture/metric_chart.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// Charts of the CPUs and the memory in use, and of GPUs and their memory, over the time since the
/// task was launched: a line for each rank and attempt, or, of more than `most_sampled_ranks`, the
/// median and a band from the least to the most. A chart without values is left out.
std::vector<MetricChart> usage_charts(const TaskRecord& task,
                                      const std::vector<UsageSample>& samples);

}  // namespace train
