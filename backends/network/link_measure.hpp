// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backends/network/rank_meeting.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/fitness/link_report.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// Timeouts.
struct LinkPatience {
  milliseconds meeting{60'000};  ///< for all ranks to connect
  milliseconds pair{5'000};      ///< for the measurement of one pair
};

/// Measures the links between the ranks, one rank on each host: each pair in both directions, for
/// 150 ms each, at the same time as other pairs; slow links are then measured again alone. Rank 0
/// gets the results of all ranks. Blocks; every wait has a timeout. An error names the rank that
/// has not connected, or has died.
Result<std::vector<LinkFacts>> measure_links(const MeetingRank& own,
                                             const LinkPatience& patience = {});

}  // namespace train
