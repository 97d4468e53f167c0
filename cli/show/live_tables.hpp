// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/surroundings/exit_code.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "launcher/live/live_hosts.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// Hosts as a table with a heading, one row each: what they have and how much of it is free.
std::string hosts_to_table(const std::vector<LiveHost>& hosts);
/// The same as CSV; memory in bytes.
std::string hosts_to_csv(const std::vector<LiveHost>& hosts);

/// Slots as CSV with a heading, a row for each that is free, and for each holder of one that is
/// not; a host whose slots are not known has one row. A process outside of train is `foreign`, with
/// its number and command. Times are milliseconds since the Unix epoch.
std::string slots_to_csv(const std::vector<LiveHost>& hosts, UnixMillis now);

/// A line for each machine of whose slots it is known who holds them, of some at most: in which
/// folder, and of which identity. Those of a container are not those of its host where they differ.
std::string lease_lines(const std::vector<LiveHost>& hosts);

/// A line for each host that cannot be reached, or of which nobody knows what is held.
std::vector<TerminalText> troubles_of(const std::vector<LiveHost>& hosts);
/// A line for whatever is held by no task or without a lock, and for each host that is the same as
/// another.
std::vector<TerminalText> strangers_of(const std::vector<LiveHost>& hosts);

/// `answered`, unless a host could not be reached: then that is said last, with its code.
ExitCode judged(ExitCode answered, const std::vector<LiveHost>& hosts);

}  // namespace train
