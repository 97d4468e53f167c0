// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/fitness/link_report.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// A rank that measures, of those that do so together.
struct LinkRank {
  int rank = 0;
  int world = 1;
  std::string address = {};  ///< numeric; where rank 0 listens
  int port = 0;
  std::string task = {};  ///< a word; whoever names another is sent away
};

/// How long is waited.
struct LinkPatience {
  milliseconds meeting{60'000};  ///< for all ranks to come
  milliseconds pair{5'000};      ///< for two ranks to have measured what is between them
};

/// Measures the links between the ranks, one rank on each host: each pair in both directions, while
/// other pairs do, for 150 ms each; what is slow then, once more with nobody beside. Rank 0 gets
/// what all have found. Blocks; nothing is waited for without an end. An error names the rank that
/// has not come, or has gone.
Result<std::vector<LinkFacts>> measure_links(const LinkRank& own,
                                             const LinkPatience& patience = {});

}  // namespace train
