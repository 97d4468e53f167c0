// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/link_report.hpp"

#include <set>

#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

LinkFacts link(int from, int to, std::uint64_t pace, nanoseconds round_trip = 50us) {
  return {from, to, round_trip, pace, pace + 1, {}, false};
}

}  // namespace

TEST_CASE("each pair meets once, and nobody has two partners in a round") {
  for (int world = 0; world <= 64; ++world) {
    std::set<std::pair<int, int>> met;
    for (int round = 0; round < link_rounds(world); ++round) {
      std::set<int> busy;
      for (const auto& [lower, higher] : link_round(round, world)) {
        CHECK(lower < higher);
        CHECK(lower >= 0);
        CHECK(higher < world);
        CHECK(busy.insert(lower).second);
        CHECK(busy.insert(higher).second);
        CHECK(met.emplace(lower, higher).second);
      }
    }
    CHECK(met.size() == static_cast<std::size_t>(world * (world - 1) / 2));
  }
}

TEST_CASE("of many ranks each meets so many others, once each") {
  constexpr int world = 131;
  CHECK(link_rounds(world) == most_link_rounds);
  std::set<std::pair<int, int>> met;
  for (int round = 0; round < most_link_rounds; ++round)
    for (const auto& pair : link_round(round, world)) CHECK(met.insert(pair).second);
  // One of an odd number rests in each round.
  CHECK(met.size() == static_cast<std::size_t>(most_link_rounds) * (world - 1) / 2);
}

TEST_CASE("what is measured is read as it was said") {
  std::vector<LinkFacts> links = {link(0, 1, 1'250'000'000), link(0, 2, 7)};
  links.push_back({1, 2, {}, 0, 0, "connection refused", false});
  std::string line = encode_link_report(links);
  REQUIRE(line.ends_with('\n'));
  line.pop_back();
  CHECK(line.find('\n') == line.npos);
  const auto read = decode_link_report(line, 3);
  REQUIRE(read);
  CHECK(*read == links);
  CHECK(decode_link_report(R"({"links":[]})", 1)->empty());
}

TEST_CASE("what ranks cannot have measured is refused") {
  const auto refused = [](const std::string& line, int world) {
    const auto read = decode_link_report(line, world);
    return !read && read.error().error_class == ErrorClass::host;
  };
  const std::string line = encode_link_report({link(0, 2, 9)});
  const std::string whole = line.substr(0, line.size() - 1);
  CHECK_FALSE(refused(whole, 3));
  CHECK(refused(whole, 2));
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK(refused(whole.substr(0, length), 3));
  CHECK(refused(
      R"({"links":[{"from":1,"to":1,"trouble":"","round_trip_ns":1,"there":1,"back":1,"alone":false}]})",
      3));
  CHECK(refused(
      R"({"links":[{"from":0,"to":1,"trouble":"","round_trip_ns":-1,"there":1,"back":1,"alone":false}]})",
      3));
  CHECK(refused(
      R"({"links":[{"from":0,"to":1,"trouble":"","round_trip_ns":1,"there":-1,"back":1,"alone":false}]})",
      3));
  std::vector<LinkFacts> many(2 * most_link_rounds + 1, link(0, 1, 1));
  const std::string long_line = encode_link_report(many);
  CHECK(refused(long_line.substr(0, long_line.size() - 1), 2));
}

TEST_CASE("a rank that is slow with all does not move what links are held against") {
  // Of four hosts the last has a bad cable: half of all links are slow.
  std::vector<LinkFacts> links;
  for (int a = 0; a < 4; ++a)
    for (int b = a + 1; b < 4; ++b) links.push_back(link(a, b, b == 3 ? 100 : 1'000));
  const LinkStandard standard = standard_of(links);
  CHECK(standard.pace == 1'000);
  for (const LinkFacts& each : links) CHECK(is_slow(each, standard) == (each.to == 3));
  CHECK(standard_of({}).pace == 0);
  // What is fast with nobody beside does not make the others slow.
  for (LinkFacts& each : links)
    if (each.to == 3) each = {each.from, each.to, 50us, 90'000, 90'000, {}, true};
  CHECK(standard_of(links).pace == 1'000);
  for (const LinkFacts& each : links) CHECK_FALSE(is_slow(each, standard_of(links)));
}

TEST_CASE("a round trip is slow by factor and by length") {
  const LinkStandard standard{1'000, 20us};
  CHECK_FALSE(is_slow(link(0, 1, 1'000, 200us), standard));
  CHECK(is_slow(link(0, 1, 1'000, 221us), standard));
  CHECK_FALSE(is_slow(link(0, 1, 1'000, 900us), {1'000, 500us}));
  CHECK_FALSE(is_slow(link(0, 1, 333), standard));
  CHECK(is_slow(link(0, 1, 332), standard));
  CHECK(carries_little(link(0, 1, 332), standard));
  CHECK_FALSE(carries_little(link(0, 1, 1'000, 900us), standard));
}
