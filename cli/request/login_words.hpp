// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/link/logins.hpp"
#include "config_schema/text/terminal_text.hpp"

namespace train {

/// "host a is", "hosts a and b are": hosts with a verb, in its form for one and for several.
std::string hosts_that(const std::vector<std::string>& hosts, std::string_view one,
                       std::string_view several);

/// Tells which hosts of a task can be logged in to again only while something is available that may
/// go away with the terminal (an ssh-agent, Kerberos tickets, a security key), and what to do then.
/// Empty if there are none.
TerminalText describe_logins(const Logins& logins, const std::string& task_id);

}  // namespace train
