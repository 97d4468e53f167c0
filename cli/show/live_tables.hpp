// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/surroundings/exit_code.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "launcher/live/live_hosts.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// Hosts as a table with a heading, one row each: their resources and how much is free.
std::string hosts_to_table(const std::vector<LiveHost>& hosts);
/// The same as CSV; memory in bytes.
std::string hosts_to_csv(const std::vector<LiveHost>& hosts);

/// Slots as CSV with a heading: a row for each free slot, and for each holder of the others. A host
/// whose slots are unknown has one row. A process outside of train is `foreign`, with its pid and
/// command. Times are milliseconds since the Unix epoch.
std::string slots_to_csv(const std::vector<LiveHost>& hosts, UnixMillis now);

/// A line for each machine whose slot holders are known (up to a maximum), with its lease folder
/// and identity. A container and its host share no leases if these differ.
std::string lease_lines(const std::vector<LiveHost>& hosts);

/// A line for each host that is unreachable, or whose usage is unknown.
std::vector<TerminalText> troubles_of(const std::vector<LiveHost>& hosts);
/// A line for each holding without a known task or without a lock, and for each host that is the
/// same machine as another.
std::vector<TerminalText> strangers_of(const std::vector<LiveHost>& hosts);

/// `answered`, unless a host could not be reached: then reports that and returns its code.
ExitCode judged(ExitCode answered, const std::vector<LiveHost>& hosts);

}  // namespace train
