// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "launcher/report_page/task_report.hpp"

namespace train {

/// The most logs that a page has.
constexpr std::size_t most_report_logs = 1'024;

/// The bytes of a log that a page with so many of them shows at most: of the rank that has failed
/// first 1 MiB, of others 2 to 64 KiB, 6 MiB together.
std::size_t log_share(std::size_t logs, bool is_culprit);

/// The log as HTML: a closed part (the culprit's is open) with a line for each line, cut at its
/// front to at most `share` bytes of HTML. After the time of a line `|` marks stdout, `!` stderr
/// and
/// `-` words of train.
std::string log_to_html(const ReportLog& log, std::size_t share);

/// All logs, with the fields that filter them. Empty without logs.
std::string logs_to_html(const std::vector<ReportLog>& logs);

}  // namespace train
