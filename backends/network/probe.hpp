// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/ports/clock.hpp"
#include "launcher/rendezvous/host_networks.hpp"

namespace train {

/// How long a probe waits.
struct ProbePatience {
  milliseconds limit{3000};  ///< for each address, from the moment at which it is tried
  /// For addresses that are preferred to one that was reached: at least so long, and at least three
  /// times as long as that one took.
  milliseconds grace{50};
  bool waits_for_all = false;  ///< each address has the whole limit
};

/// Looks for the responders of other hosts, on all of their addresses at once as far as 64 sockets
/// go, and says of each target what came of its addresses, in the order of both. A target is done
/// with when the address that it prefers, the first, is reached; when another one is, and the grace
/// of those before it is over; or when all have come to an end. The others are `untried` then, as
/// are those for which this process gets no socket. An address that is not numeric, a port that
/// does not exist and a token that is none are `unreachable`.
///
/// Blocks, for at most the limit times a sixty-fourth of the number of addresses, rounded up.
std::vector<ProbeResult> probe(const std::vector<ProbeTarget>& targets,
                               const ProbePatience& patience);

}  // namespace train
