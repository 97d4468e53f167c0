// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace train {

/// The text of the exception that is being handled.
std::string reason_of_current_exception();

/// From now on an exception that nobody catches, on whichever thread, is told the launcher at the
/// other end of this descriptor (AgentFailed) before the process ends with code 70. -1 for none.
void tell_uncaught_exceptions(int connection);

/// Tells the launcher of that connection at once, and lets nothing be sent after it.
void say_last_words(const std::string& reason);

/// Waits some seconds for a launcher to connect to the listening socket, and tells it that the
/// agent has failed.
void tell_failure(int listening_socket, const std::string& reason);

}  // namespace train
