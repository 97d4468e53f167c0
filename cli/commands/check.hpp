// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/request/request.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/plan/plan.hpp"

namespace train {

/// How far hosts are checked, each with what the one before does.
enum class CheckTier {
  fast,   ///< they are asked
  full,   ///< and the links between them measured
  bench,  ///< and NCCL
};

/// For a launch: looks whether all hosts of the request are fit for it, those among them that its
/// plan does not use as well. Takes those that are not out of the request where it `excludes` them,
/// and says which: true then. Else they are an error of class `host`, as no host at all is.
Result<bool> leave_fit_hosts(Request& request, const HostFlags& flags, const Plan& plan,
                             CheckTier tier, bool excludes);

}  // namespace train
