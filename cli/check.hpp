// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/request.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/fitness/verdict.hpp"
#include "launcher/plan/plan.hpp"

namespace train {

/// Hosts that were looked at, and what was found at them.
struct HostCheck {
  std::vector<CheckedHost> hosts;
  std::vector<HostFinding> findings;
};

/// Looks whether all hosts of a request are fit for it, those among them that its plan does not use
/// as well.
HostCheck check_hosts(const Request& request, const Plan& plan);

/// What was found, a finding and its next step each, after an empty line; what keeps ranks from
/// running is first. Escaped.
std::string findings_text(const HostCheck& check);

/// "1 of 4 hosts is unfit", or that all are fit.
std::string summary_of(const HostCheck& check);

/// For a launch: takes the hosts that are not fit out of the request where it `excludes` them, and
/// says which; else they are an error of class `host`, as no host at all is.
Result<void> leave_fit_hosts(Request& request, const Plan& plan, bool excludes);

}  // namespace train
