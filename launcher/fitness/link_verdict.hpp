// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/fitness/link_report.hpp"
#include "launcher/fitness/verdict.hpp"

namespace train {

/// What was measured between checked hosts.
struct LinkCheck {
  std::vector<std::size_t> hosts;  ///< by rank: index of the checked hosts
  std::vector<LinkFacts> links;

  std::size_t host_of(int rank) const { return hosts[static_cast<std::size_t>(rank)]; }
};

/// Judges links by each other (`is_slow`), of three hosts and more: of two nobody can say which is
/// right. Findings are by host.
///
/// A host of whose links two thirds are slow, two at least, is named once, and its links are not.
/// Of other links that are slow with nobody beside the later host is told, with the name of the
/// other. Where there are more of these than hosts, or links that were slow beside others only, it
/// is how the network is built, between racks say: that is a note. A link over which nothing went
/// is always named.
std::vector<HostFinding> judge_links(const LinkCheck& check, const std::vector<CheckedHost>& hosts);

/// "9.4 Gbit/s", of bytes per second.
std::string pace_text(std::uint64_t bytes_per_second);
/// "23 us", "1.2 ms".
std::string round_trip_text(nanoseconds round_trip);

}  // namespace train
