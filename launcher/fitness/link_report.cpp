// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/link_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "launcher/wire/json_fields.hpp"
#include "launcher/wire/message_limits.hpp"

namespace train {

using nlohmann::json;

namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_link_trouble = 200;

// Of an even number that is greater by one where the ranks are odd: who meets the last one rests.
int even(int world) { return world + world % 2; }

template <class Value>
Value median(std::vector<Value> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<LinkFacts> links_of(const json& value, int world) {
  std::vector<LinkFacts> links;
  const auto most = static_cast<std::size_t>(world) * most_link_rounds;
  for (const json& each : array_field(value, "links", most)) {
    LinkFacts link;
    link.from = int_field(each, "from", 0, world - 1);
    link.to = int_field(each, "to", 0, world - 1);
    if (link.from >= link.to) throw Malformed{"'from' is not the lower rank"};
    link.trouble = text_field(each, "trouble", longest_link_trouble);
    link.round_trip = nanoseconds(number_field(each, "round_trip_ns"));
    link.there = static_cast<std::uint64_t>(number_field(each, "there"));
    link.back = static_cast<std::uint64_t>(number_field(each, "back"));
    links.push_back(std::move(link));
  }
  return links;
}

}  // namespace

int link_rounds(int world) { return world < 2 ? 0 : std::min(even(world) - 1, most_link_rounds); }

std::vector<std::pair<int, int>> link_round(int round, int world) {
  // The last one stands still, and the others go around it.
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
  struct Best {
    std::uint64_t pace = 0;
    nanoseconds round_trip = nanoseconds::max();
  };
  std::vector<Best> best;
  for (const LinkFacts& link : links) {
    if (!link.trouble.empty()) continue;
    best.resize(std::max(best.size(), static_cast<std::size_t>(link.to) + 1));
    for (const int rank : {link.from, link.to}) {
      Best& of = best[static_cast<std::size_t>(rank)];
      of.pace = std::max(of.pace, link.pace());
      of.round_trip = std::min(of.round_trip, link.round_trip);
    }
  }
  std::erase_if(best, [](const Best& each) { return each.pace == 0; });
  if (best.empty()) return {};
  std::vector<std::uint64_t> paces;
  std::vector<nanoseconds> trips;
  for (const Best& each : best) {
    paces.push_back(each.pace);
    trips.push_back(each.round_trip);
  }
  return {median(std::move(paces)), median(std::move(trips))};
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
  for (const LinkFacts& link : links)
    list.push_back({{"from", link.from},
                    {"to", link.to},
                    {"round_trip_ns", link.round_trip.count()},
                    {"there", link.there},
                    {"back", link.back},
                    {"trouble", from_bytes(cut_to_json(link.trouble, longest_link_trouble))}});
  return json{{"links", std::move(list)}}.dump() + "\n";
}

Result<std::vector<LinkFacts>> decode_link_report(std::string_view line, int world) {
  return decode_document<std::vector<LinkFacts>>(
      line, longest_link_report, "what was measured between the hosts is not understood",
      [&](const json& value) { return links_of(value, world); });
}

}  // namespace train
