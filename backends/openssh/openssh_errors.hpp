// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/openssh/openssh_log.hpp"
#include "backends/posix/child.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// Why an ssh process did not come as far as the login.
struct OpensshFailure {
  /// How many times in all to try: more than once where the trouble may pass.
  enum class Tries { one = 1, few = 3, many = 8 };
  Error error;  ///< of class `host`, with the cause and the next step
  Tries tries = Tries::one;
  bool is_refusal = false;  ///< it, or a jump host, takes nothing of what ssh can log in with
};

/// Reads the cause from ssh's own words.
OpensshFailure login_failure(const OpensshLog& log, const Host& host, const ExitStatus& end);

/// Nothing happened for `seconds` at the stage that the log tells, but that the host may have
/// printed `noise`.
Error silence_error(const OpensshLog& log, const Host& host, double seconds,
                    const std::string& noise = {});

/// ssh ended before the agent was ready; `noise` is what the host printed instead of answers.
Error start_error(const OpensshLog& log, const Host& host, const ExitStatus& end,
                  const std::string& noise);

/// ssh ended after that.
Error lost_agent_error(const OpensshLog& log, const Host& host, const ExitStatus& end);

/// Where ssh goes: "10.77.1.3:22", or, while it has not said so, the host as it was declared.
std::string openssh_endpoint(const OpensshLog& log, const Host& host);

}  // namespace train
