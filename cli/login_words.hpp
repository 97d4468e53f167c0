// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/link/logins.hpp"
#include "config_schema/text/terminal_text.hpp"

namespace train {

/// Which hosts of a task can be logged in to again only as long as something is there that may go
/// with its terminal, and what to do then; empty where there are none.
TerminalText describe_logins(const Logins& logins, const std::string& task_id);

}  // namespace train
