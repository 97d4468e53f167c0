// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/plan.hpp"
#include "launcher/run/outcome.hpp"

namespace train {

/// One failure that one or more hosts share.
struct HostTrouble {
  Error error;             ///< without the host names
  std::vector<int> hosts;  ///< node ranks, in the order of the failures
  /// May have happened as early as the cause, within the precision of the clocks.
  bool may_be_first = false;

  /// "host 'node01': connection refused at 10.77.1.1:22", or, for several hosts, without what
  /// differs between them: "hosts node[01,03]: connection refused at port 22".
  Error named(const Trial& trial) const;
  /// "host 'node01'", "hosts node[01,03]".
  std::string names(const Trial& trial) const;
};

/// The failures of hosts (not of ranks), grouped by equal text apart from the host's name and
/// address, in order. If the cause is a failure of a host, its group is the first.
std::vector<HostTrouble> host_troubles(const RunOutcome& outcome, const Trial& trial);

}  // namespace train
