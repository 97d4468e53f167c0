// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
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

/// How a kind of link is spoken of; "{}" stands for the other host.
struct LinkWords {
  const char* check;                     ///< of findings
  std::string_view link;                 ///< "its link to {}"
  std::string_view nothing;              ///< before the reason: "no data goes between it and {}"
  std::string_view nothing_with_others;  ///< before the reason
  const char* host_hint;                 ///< the next steps: for a host that is slow with most,
  const char* pair_hint;                 ///< for a pair that is,
  const char* nothing_hint;              ///< where nothing goes between two,
  const char* nothing_with_others_hint;  ///< and with any other
  std::string (*rate)(std::uint64_t);    ///< of bytes per second
};
/// The same for any kind of link.
std::vector<HostFinding> judge_links(const LinkCheck& check, const std::vector<CheckedHost>& hosts,
                                     const LinkWords& words);
/// "23 us", "1.2 ms".
std::string round_trip_text(nanoseconds round_trip);

}  // namespace train
