// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// The measurements between two ranks, separately for each direction.
struct LinkFacts {
  int from = 0;  ///< the lower rank
  int to = 0;
  nanoseconds round_trip{0};  ///< the median of several
  std::uint64_t there = 0;    ///< bytes per second, from the lower to the higher rank
  std::uint64_t back = 0;
  std::string trouble = {};  ///< why nothing was measured; empty if it was
  /// It was slow while others measured, and these figures are from a second time without them.
  bool is_alone = false;

  /// The pace of the slower direction.
  std::uint64_t pace() const { return there < back ? there : back; }
  bool operator==(const LinkFacts&) const = default;
};

/// The maximum number of rounds: for up to 64 ranks all pairs are measured, for more each rank with
/// 63 others.
inline constexpr int most_link_rounds = 63;

/// The number of rounds for this number of ranks.
int link_rounds(int world);
/// The pairs of a round, the lower rank first; no rank is in two pairs of a round, and no pair in
/// two rounds (the circle method of tournaments).
std::vector<std::pair<int, int>> link_round(int round, int world);

/// The standard for links: the median over the ranks of what the better quarter of each rank's
/// links reaches. So neither a rank that is slow with all others nor slower links between racks
/// move it. Links that were measured alone do not count: where hosts share a core switch, or racks
/// share a link, they are much faster.
struct LinkStandard {
  std::uint64_t pace = 0;  ///< bytes per second
  nanoseconds round_trip{0};
};
LinkStandard standard_of(const std::vector<LinkFacts>& links);
/// Slower than a third of the standard (one TCP stream varies by a factor of two on links of 10
/// Gbit/s and more, depending on the core that serves it); or a round trip of more than four times
/// the standard and more than 200 us above it; or not measured at all.
bool is_slow(const LinkFacts& link, const LinkStandard& standard);
/// Only the first of these conditions.
bool carries_little(const LinkFacts& link, const LinkStandard& standard);

/// The maximum length of one line in bytes, and the maximum number of ranks.
inline constexpr std::size_t longest_link_report = std::size_t{16} << 20;
inline constexpr int most_linked_ranks = 4'000;

/// One line, including its newline; the inverse takes the line without its newline, for `world`
/// ranks: class `host` if it is invalid.
std::string encode_link_report(const std::vector<LinkFacts>& links);
Result<std::vector<LinkFacts>> decode_link_report(std::string_view line, int world);

}  // namespace train
