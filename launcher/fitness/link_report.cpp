// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/link_report.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "launcher/frames/fields.hpp"

namespace train {

using nlohmann::json;

namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_link_trouble = 200;

// Rounds an odd number of ranks up: the rank whose partner does not exist pauses in that round.
int even(int world) { return world + world % 2; }

template <class Value, class Before>
Value nth(std::vector<Value> values, std::size_t n, Before before) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(n);
  std::nth_element(values.begin(), at, values.end(), before);
  return *at;
}

std::vector<LinkFacts> links_of(const json& value, int world) {
  const auto most = static_cast<std::size_t>(world) * most_link_rounds;
  std::vector<LinkFacts> links;
  for (const json& each : array_field(value, "links", most)) {
    links.push_back(struct_of_json<LinkFacts>(each));
    if (links.back().to >= world) throw Malformed{"a link to no rank"};
  }
  return links;
}

}  // namespace

void fields(auto& f, Described<LinkFacts> auto& link) {
  f.number("from", link.from);
  f.number("to", link.to);
  f.duration("round_trip_ns", link.round_trip);
  f.number("there", link.there);
  f.number("back", link.back);
  f.flag("alone", link.is_alone);
  f.words("trouble", link.trouble, longest_link_trouble);
  f.check([&] { return link.from < link.to; }, "'from' is not the lower rank");
}

int link_rounds(int world) { return world < 2 ? 0 : std::min(even(world) - 1, most_link_rounds); }

std::vector<std::pair<int, int>> link_round(int round, int world) {
  // The last rank keeps its place, and the others rotate around it.
  const int others = even(world) - 1;
  std::vector<std::pair<int, int>> pairs;
  const auto add = [&](int a, int b) {
    if (std::max(a, b) < world) pairs.emplace_back(std::min(a, b), std::max(a, b));
  };
  add(round % others, others);
  for (int i = 1; i <= others / 2; ++i) add((round + i) % others, (round + others - i) % others);
  return pairs;
}

LinkStandard standard_of(const std::vector<LinkFacts>& links) {
  struct OfRank {
    std::vector<std::uint64_t> paces;
    std::vector<nanoseconds> round_trips;
  };
  std::map<int, OfRank> ranks;
  for (const LinkFacts& link : links) {
    if (!link.trouble.empty() || link.is_alone) continue;
    for (const int rank : {link.from, link.to}) {
      ranks[rank].paces.push_back(link.pace());
      ranks[rank].round_trips.push_back(link.round_trip);
    }
  }
  if (ranks.empty()) return {};
  std::vector<std::uint64_t> paces;
  std::vector<nanoseconds> round_trips;
  for (auto& [rank, of] : ranks) {
    const std::size_t quarter = (of.paces.size() - 1) / 4;
    paces.push_back(nth(std::move(of.paces), quarter, std::greater<>()));
    round_trips.push_back(nth(std::move(of.round_trips), quarter, std::less<>()));
  }
  const std::size_t half = paces.size() / 2;
  return {nth(std::move(paces), half, std::less<>()),
          nth(std::move(round_trips), half, std::less<>())};
}

bool carries_little(const LinkFacts& link, const LinkStandard& standard) {
  return link.trouble.empty() && link.pace() < standard.pace / 3;
}

bool is_slow(const LinkFacts& link, const LinkStandard& standard) {
  return !link.trouble.empty() || carries_little(link, standard) ||
         (link.round_trip > 4 * standard.round_trip &&
          link.round_trip > standard.round_trip + 200us);
}

std::string encode_link_report(const std::vector<LinkFacts>& links) {
  json list = json::array();
  for (const LinkFacts& link : links) list.push_back(json_of_fields(link));
  return json{{"links", std::move(list)}}.dump() + "\n";
}

Result<std::vector<LinkFacts>> decode_link_report(std::string_view line, int world) {
  return decode_document<std::vector<LinkFacts>>(
      line, longest_link_report, "what was measured between the hosts is not understood",
      [&](const json& value) { return links_of(value, world); });
}

}  // namespace train
