// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/link_verdict.hpp"

#include "tests/catch.hpp"
#include "tests/launcher/fitness/finding_lines.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t ten_gigabits = 1'250'000'000;

struct LinkBench {
  std::vector<CheckedHost> hosts;
  LinkCheck check;

  explicit LinkBench(int count) {
    for (int i = 0; i < count; ++i) {
      Host host;
      host.name = "node0" + std::to_string(i + 1);
      hosts.push_back({host, HostFitness(), {}, {}});
      check.hosts.push_back(static_cast<std::size_t>(i));
    }
    for (int a = 0; a < count; ++a)
      for (int b = a + 1; b < count; ++b)
        check.links.push_back({a, b, 50us, ten_gigabits, ten_gigabits, {}, false});
  }
  // What is slow there is so with nobody beside.
  LinkFacts& link(int a, int b) {
    for (LinkFacts& each : check.links)
      if (each.from == a && each.to == b) {
        each.is_alone = true;
        return each;
      }
    FAIL("there is no such link");
    return check.links.front();
  }
  std::vector<std::string> found() const {
    return testing::lines_of(judge_links(check, hosts), hosts, "link");
  }
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("links that are alike are well, as are those of two hosts") {
  for (const int count : {0, 1, 2, 3, 4, 9}) CHECK(LinkBench(count).found().empty());
  LinkBench two(2);
  two.link(0, 1).there = 1;
  CHECK(two.found().empty());
  LinkBench noisy(5);
  noisy.link(1, 3).there = ten_gigabits / 2;
  noisy.link(2, 3).round_trip = 190us;
  CHECK(noisy.found().empty());
}

TEST_CASE("one slow link among sixty-four hosts is found as a pair") {
  LinkBench bench(64);
  bench.link(4, 40).back = ten_gigabits / 10;
  CHECK(bench.found() == Lines{"node041 unfit: its link to node05 carries 1.0 Gbit/s, where most "
                               "hosts have 10.0 Gbit/s"});
}

TEST_CASE("a host whose links are all slow is named once") {
  for (const int count : {3, 4, 8}) {
    LinkBench bench(count);
    for (LinkFacts& link : bench.check.links)
      if (link.from == 1 || link.to == 1) link.there = ten_gigabits / 20;
    CHECK(bench.found() ==
          Lines{"node02 unfit: its link to others carries 500.0 Mbit/s, where most "
                "hosts have 10.0 Gbit/s"});
  }
}

TEST_CASE("a long round trip is found without a slow pace") {
  LinkBench bench(4);
  bench.link(0, 3).round_trip = 1'200us;
  CHECK(bench.found() ==
        Lines{"node04 unfit: its link to node01 has a round trip of 1.2 ms, where most hosts have "
              "50 us"});
}

TEST_CASE("a link over which nothing goes is named, also of two hosts") {
  LinkBench bench(2);
  bench.link(0, 1) = {0, 1, {}, 0, 0, "there was no answer in time", false};
  CHECK(bench.found() ==
        Lines{"node02 unfit: no data goes between it and node01: there was no answer in time"});
  LinkBench more(4);
  more.link(1, 2) = {1, 2, {}, 0, 0, "connection refused", false};
  CHECK(more.found() ==
        Lines{"node03 unfit: no data goes between it and node02: connection refused"});
  LinkBench alone(4);
  for (LinkFacts& link : alone.check.links)
    if (link.to == 3) link = {link.from, 3, {}, 0, 0, "connection refused", false};
  CHECK(alone.found() ==
        Lines{"node04 unfit: no other host exchanges data with it: connection refused"});
  CHECK(judge_links(alone.check, alone.hosts).front().hint ==
        "look for a firewall between it and the others");
}

TEST_CASE("racks between which links are slower are a note") {
  LinkBench bench(8);
  for (LinkFacts& link : bench.check.links)
    if ((link.from < 4) != (link.to < 4)) link.there = link.back = ten_gigabits / 4;
  CHECK(bench.found() ==
        Lines{"node05 fit: 16 of 28 links are slow, as between racks: that to node01 carries 2.5 "
              "Gbit/s, where most hosts have 10.0 Gbit/s"});
}

TEST_CASE("paces and round trips have the units that people use") {
  CHECK(pace_text(1'250'000'000) == "10.0 Gbit/s");
  CHECK(pace_text(12'500'000) == "100.0 Mbit/s");
  CHECK(pace_text(1'000) == "8 kbit/s");
  CHECK(round_trip_text(23'400ns) == "23 us");
  CHECK(round_trip_text(1'234us) == "1.2 ms");
}
