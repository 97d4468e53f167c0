// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/measures/host_start.hpp"
#include "launcher/report_page/task_report.hpp"

namespace train {

/// A row for each host, with a bar for each of its steps; of more than 64 hosts the slowest,
/// slowest first.
TimeLine start_line_of(const AttemptStart& start);

/// How many seconds each host took for each step.
ReportTable start_table_of(const AttemptStart& start);

}  // namespace train
