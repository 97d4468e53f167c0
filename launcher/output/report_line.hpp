// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// The JSON of a value of a report, as `metrics_of_line` accepts it: a number, `nan`, `inf`,
/// `true`, `false` or `null`, else text.
std::string report_value(const std::string& value);

/// A report from NAME=VALUE words, as one line of a metrics file: a JSON object, ended by a
/// newline. Values are as from `report_value`; `step` comes first. Class `usage` if a word has
/// another form, a name is given twice, the step is not a finite number, or the line is longer than
/// `longest_report_line`.
Result<std::string> report_line(const std::vector<std::string>& words,
                                const std::optional<std::string>& step);

}  // namespace train
