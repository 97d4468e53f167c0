// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/fitness/link_report.hpp"
#include "launcher/fitness/verdict.hpp"

namespace train {

/// The measurements between checked hosts.
struct LinkCheck {
  std::vector<std::size_t> hosts;  ///< by rank: index into the checked hosts
  std::vector<LinkFacts> links;

  std::size_t host_of(int rank) const { return hosts[static_cast<std::size_t>(rank)]; }
};

/// Judges links in comparison to each other (`is_slow`), for three or more hosts: with two hosts
/// there is nothing to compare with. Findings are sorted by host.
///
/// A host is named once if two thirds of its links, and at least two, are slow; then its links are
/// not listed. Other links that are slow when measured alone are reported for the later host, with
/// the name of the other. If there are more of these than hosts, or links that were slow only while
/// others measured, the cause is the structure of the network (between racks, for example): that is
/// a note. A link without any traffic is always reported.
std::vector<HostFinding> judge_links(const LinkCheck& check, const std::vector<CheckedHost>& hosts);

/// A rate in bytes per second as "9.4 Gbit/s".
std::string pace_text(std::uint64_t bytes_per_second);

/// The words for one kind of link; "{}" stands for the other host.
struct LinkWords {
  const char* check;                     ///< the check's name in findings
  std::string_view link;                 ///< "its link to {}"
  std::string_view nothing;              ///< before the reason: "no data goes between it and {}"
  std::string_view nothing_with_others;  ///< before the reason
  const char* host_hint;                 ///< next step: for a host that is slow with most others,
  const char* pair_hint;                 ///< for a slow pair,
  const char* nothing_hint;              ///< for a pair without any traffic,
  const char* nothing_with_others_hint;  ///< and for a host without traffic to several others
  std::string (*rate)(std::uint64_t);    ///< formats bytes per second
};
/// The same for any kind of link.
std::vector<HostFinding> judge_links(const LinkCheck& check, const std::vector<CheckedHost>& hosts,
                                     const LinkWords& words);
/// "23 us", "1.2 ms".
std::string round_trip_text(nanoseconds round_trip);

}  // namespace train
