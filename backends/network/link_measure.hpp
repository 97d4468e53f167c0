// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backends/network/rank_meeting.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/fitness/link_report.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// How long is waited.
struct LinkPatience {
  milliseconds meeting{60'000};  ///< for all ranks to come
  milliseconds pair{5'000};      ///< for two ranks to have measured what is between them
};

/// Measures the links between the ranks, one rank on each host: each pair in both directions, while
/// other pairs do, for 150 ms each; what is slow then, once more with nobody beside. Rank 0 gets
/// what all have found. Blocks; nothing is waited for without an end. An error names the rank that
/// has not come, or has gone.
Result<std::vector<LinkFacts>> measure_links(const MeetingRank& own,
                                             const LinkPatience& patience = {});

}  // namespace train
