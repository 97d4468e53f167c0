// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace train {

/// The text of the exception that is being handled.
std::string reason_of_current_exception();

/// From now on an uncaught exception on any thread is reported (AgentFailed) to the supervisor at
/// the other end of this descriptor before the process ends with code 70. -1: there is no
/// supervisor.
void report_uncaught_exceptions(int connection);

/// Reports `reason` to the supervisor of that connection at once. Only the first call sends
/// anything.
void report_fatal_error(const std::string& reason);

/// Waits up to 5 s for a supervisor to connect to the listening socket, and reports to it that the
/// agent has failed.
void report_failure(int listening_socket, const std::string& reason);

}  // namespace train
