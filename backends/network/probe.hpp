// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/ports/clock.hpp"
#include "launcher/rendezvous/host_networks.hpp"

namespace train {

/// The timeouts of a probe.
struct ProbePatience {
  milliseconds limit{3000};  ///< for each address, from the start of its try
  /// For preferred addresses, after another one was reached: at least this long, and at least three
  /// times as long as that one took.
  milliseconds grace{50};
  bool waits_for_all = false;  ///< every address gets the whole limit
};

/// Probes the responders of other hosts, on all of their addresses at once, with at most 64
/// sockets. Returns the result of each address, in the order of targets and addresses. A target is
/// done when its first, preferred address was reached; when another one was reached and the grace
/// of those before it is over; or when all addresses have a result. The remaining addresses are
/// then `untried`, as are those for which this process gets no socket. An invalid address, port or
/// token is `unreachable`.
///
/// Blocks, for at most the limit times a sixty-fourth of the number of addresses, rounded up.
std::vector<ProbeResult> probe(const std::vector<ProbeTarget>& targets,
                               const ProbePatience& patience);

}  // namespace train
