// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "launcher/report_page/task_report.hpp"

namespace train {

/// The table as HTML, in a box that scrolls sideways if the screen is narrow; empty without rows.
/// Every row has a cell for each column. Columns that have only "-" are left out.
std::string table_to_html(const ReportTable& table);

/// A remark below something; empty without words.
std::string note_html(std::string_view words);

/// A box around something that may be wider than the screen. It can be scrolled by keyboard.
std::string scroll_box(std::string_view label, std::string_view html);

/// The lines of a chart as a table: what they begin and end with, and their extremes.
ReportTable table_of(const MetricChart& chart);

}  // namespace train
