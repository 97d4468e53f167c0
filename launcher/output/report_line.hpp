// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// A value of a report as `metrics_of_line` takes it: a number, `nan`, `inf`, `true`, `false` or
/// `null`, or else text.
std::string report_value(const std::string& value);

/// A report of NAME=VALUE words, as one line of a metrics file: an object of JSON, ended by a
/// newline. Values are as `report_value` has them; `step` comes first. Class `usage` where a word
/// is none, a name stands twice, the step is no finite number, or the line is longer than
/// `longest_report_line`.
Result<std::string> report_line(const std::vector<std::string>& words,
                                const std::optional<std::string>& step);

}  // namespace train
