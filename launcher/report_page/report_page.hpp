// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "launcher/report_page/task_report.hpp"

namespace train {

/// The largest page in bytes. What does not fit is left out, and the page says so.
constexpr std::size_t longest_report_page = 16u << 20;

/// The page as HTML. It has no external resources, and its content security policy lets a browser
/// load none and run no script but its own, so that nothing that a rank has written can be one.
std::string report_page(const TaskReport& report);

}  // namespace train
