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

/// What two ranks have measured between them, each of the two directions for itself.
struct LinkFacts {
  int from = 0;  ///< the lower rank
  int to = 0;
  nanoseconds round_trip{0};  ///< the median of some
  std::uint64_t there = 0;    ///< bytes per second, from the lower to the higher
  std::uint64_t back = 0;
  std::string trouble = {};  ///< why nothing was measured; empty: it was
  /// It was slow beside others, and these figures are from when nobody else measured.
  bool is_alone = false;

  /// The slower of both directions.
  std::uint64_t pace() const { return there < back ? there : back; }
  bool operator==(const LinkFacts&) const = default;
};

/// More rounds are not measured: of 64 ranks all pairs, of more each with 63 others.
inline constexpr int most_link_rounds = 63;

/// How many rounds so many ranks have.
int link_rounds(int world);
/// The pairs of a round, the lower rank first; no rank is in two of them, and no pair in two rounds
/// (the circle method of tournaments).
std::vector<std::pair<int, int>> link_round(int round, int world);

/// What links are held against: the median, over the ranks, of what the better quarter of each
/// one's links has at least. So a rank that is slow with all others does not move it, nor do racks
/// between which links are slower. What was measured alone does not count: where hosts share a
/// core, or racks a link, it is faster by far.
struct LinkStandard {
  std::uint64_t pace = 0;  ///< bytes per second
  nanoseconds round_trip{0};
};
LinkStandard standard_of(const std::vector<LinkFacts>& links);
/// Slower than a third of the standard (one stream of TCP varies by two on links of 10 Gbit/s and
/// more, with the core that it is served by); or a round trip of more than four times the standard,
/// and 200 us above it; or not measured at all.
bool is_slow(const LinkFacts& link, const LinkStandard& standard);
/// The first of these alone.
bool carries_little(const LinkFacts& link, const LinkStandard& standard);

/// Bytes of one line at most, and ranks.
inline constexpr std::size_t longest_link_report = std::size_t{16} << 20;
inline constexpr int most_linked_ranks = 4'000;

/// One line, its end included; and the reverse, of the line without its end, of so many ranks:
/// class `host` when it is none.
std::string encode_link_report(const std::vector<LinkFacts>& links);
Result<std::vector<LinkFacts>> decode_link_report(std::string_view line, int world);

}  // namespace train
