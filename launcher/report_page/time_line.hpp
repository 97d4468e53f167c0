// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/report_page/task_report.hpp"

namespace train {

/// The rows as HTML with SVG, as wide as the page: bars on one axis of elapsed time, and a legend
/// of the kinds of bars that there are. Empty without bars.
std::string time_line_to_html(const TimeLine& time_line);

}  // namespace train
