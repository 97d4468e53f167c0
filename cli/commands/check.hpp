// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/request/request.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/plan/plan.hpp"

namespace train {

/// How thoroughly hosts are checked; each tier includes the previous one.
enum class CheckTier {
  fast,   ///< queries the hosts
  full,   ///< also measures the links between them
  bench,  ///< also measures NCCL
};

/// Before a launch: checks whether all hosts of the request are fit for it, including those that
/// its plan does not use. With `excludes`, removes unfit hosts from the request, tells the user,
/// and returns true if any was removed. Without it, an unfit host is an error of class `host`; so
/// is a request without any fit host.
Result<bool> leave_fit_hosts(Request& request, const HostFlags& flags, const Plan& plan,
                             CheckTier tier, bool excludes);

}  // namespace train
