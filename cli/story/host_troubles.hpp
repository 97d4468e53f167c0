// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/plan.hpp"
#include "launcher/run/outcome.hpp"

namespace train {

/// The same trouble of one or more hosts.
struct HostTrouble {
  Error error;                ///< without the hosts' names
  std::vector<int> hosts;     ///< node ranks, in the order of the failures
  bool may_be_first = false;  ///< may be as early as the cause, as far as the clocks tell

  /// "host 'node01': connection refused at 10.77.1.1:22", or, with all that differs between the
  /// hosts left out, "hosts node[01,03]: connection refused at port 22".
  Error named(const Trial& trial) const;
  /// "host 'node01'", "hosts node[01,03]".
  std::string names(const Trial& trial) const;
};

/// The failures of hosts, not of ranks, that are alike but for the host's own name and address,
/// each kind once, in order. The cause, if it is one of a host, is the first.
std::vector<HostTrouble> host_troubles(const RunOutcome& outcome, const Trial& trial);

}  // namespace train
