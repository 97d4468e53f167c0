// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/openssh/openssh_log.hpp"
#include "backends/posix/child.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// Why an ssh process failed before the login.
struct OpensshFailure {
  /// The total number of tries: more than one when the trouble may be temporary.
  enum class Tries { one = 1, few = 3, many = 8 };
  Error error;  ///< of class `host`, with the cause and the next step
  Tries tries = Tries::one;
  bool is_refusal = false;  ///< the host, or a jump host, refused all of ssh's credentials
};

/// Determines the cause from ssh's messages.
OpensshFailure login_failure(const OpensshLog& log, const Host& host, const ExitStatus& end);

/// Nothing happened for `seconds` at the stage of the log, except that the host may have printed
/// `noise`.
Error silence_error(const OpensshLog& log, const Host& host, double seconds,
                    const std::string& noise = {});

/// ssh ended before the agent was ready; `noise` is other output of the host.
Error start_error(const OpensshLog& log, const Host& host, const ExitStatus& end,
                  const std::string& noise);

/// ssh ended after the agent was ready.
Error lost_agent_error(const OpensshLog& log, const Host& host, const ExitStatus& end);

/// The target of ssh: "10.77.1.3:22", or the declared host until the log has the address.
std::string openssh_endpoint(const OpensshLog& log, const Host& host);

}  // namespace train
