// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/selected_workers.hpp"

#include <bitset>
#include <numeric>
#include <random>

#include "tests/catch.hpp"

using namespace train;

namespace {

std::vector<std::size_t> hosts_from(std::size_t first, std::size_t count) {
  std::vector<std::size_t> hosts(count);
  std::iota(hosts.begin(), hosts.end(), first);
  return hosts;
}

// Whether so many workers of each kind can be given the places: every set of kinds must have room
// enough on places that serve one of them (Hall).
bool has_room(const std::vector<std::uint64_t>& places, const std::vector<int>& of_kind) {
  for (std::uint64_t kinds = 1; kinds < std::uint64_t{1} << of_kind.size(); ++kinds) {
    int workers = 0;
    for (std::size_t kind = 0; kind < of_kind.size(); ++kind)
      if ((kinds >> kind) & 1U) workers += of_kind[kind];
    const auto room = std::count_if(places.begin(), places.end(),
                                    [&](std::uint64_t mask) { return (mask & kinds) != 0; });
    if (room < workers) return false;
  }
  return true;
}

// The definition, tried on every set of so many hosts.
bool is_there_a_set(const std::vector<HostGroup>& groups, const std::vector<int>& of_kind,
                    int hosts, bool wholly) {
  std::vector<const HostGroup*> all;
  for (const HostGroup& group : groups) all.insert(all.end(), group.hosts.size(), &group);
  const int workers = std::accumulate(of_kind.begin(), of_kind.end(), 0);
  for (std::uint64_t set = 0; set < std::uint64_t{1} << all.size(); ++set) {
    if (std::bitset<64>(set).count() != static_cast<std::size_t>(hosts)) continue;
    std::vector<std::uint64_t> places;
    for (std::size_t i = 0; i < all.size(); ++i)
      if ((set >> i) & 1U) places.insert(places.end(), all[i]->size, all[i]->kinds);
    if (wholly && static_cast<int>(places.size()) != workers) continue;
    if (has_room(places, of_kind)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("many places at once are taken as one by one") {
  std::mt19937 random(7);
  for (int i = 0; i < 2'000; ++i) {
    const std::vector<int> of_kind = {static_cast<int>(random() % 6),
                                      static_cast<int>(random() % 6),
                                      static_cast<int>(random() % 6)};
    KindMatching at_once(of_kind);
    KindMatching singly(of_kind);
    for (int step = 0; step < 5; ++step) {
      const std::uint64_t mask = random() % 8;
      const int places = static_cast<int>(random() % 7);
      int taken = 0;
      for (int place = 0; place < places; ++place) taken += singly.take(mask);
      CAPTURE(i, step, mask, places);
      REQUIRE(at_once.take(mask, places) == taken);
      REQUIRE(at_once.left() == singly.left());
    }
  }
}

TEST_CASE("a set of hosts is found exactly when there is one") {
  std::mt19937 random(11);
  int found = 0;
  for (int i = 0; i < 1'500; ++i) {
    std::vector<HostGroup> groups;
    std::size_t host = 0;
    for (int size = 4; size >= 1 && host < 8; --size) {
      const std::size_t count = random() % 4;
      if (count == 0) continue;
      groups.push_back({random() % 8, size, hosts_from(host, count)});
      host += count;
    }
    if (groups.empty()) continue;
    const std::vector<int> of_kind = {static_cast<int>(random() % 5),
                                      static_cast<int>(random() % 5),
                                      1 + static_cast<int>(random() % 4)};
    const int hosts = 1 + static_cast<int>(random() % host);
    const bool wholly = random() % 2 == 0;
    HostSetSearch search(groups, of_kind, wholly);
    const auto set = search.find(hosts);
    CAPTURE(i, hosts, wholly);
    REQUIRE_FALSE(search.is_given_up());
    REQUIRE(set.has_value() == is_there_a_set(groups, of_kind, hosts, wholly));
    if (!set) continue;
    ++found;
    CHECK(set->size() == static_cast<std::size_t>(hosts));
  }
  CHECK(found > 200);
}

TEST_CASE("thousands of hosts of two kinds are told apart within the bound") {
  // 4,000 workers of each of two types, on 1,000 hosts of 8; one of the first type is missing.
  for (const std::size_t first : {std::size_t{500}, std::size_t{499}}) {
    const std::vector<HostGroup> groups = {{0b01, 8, hosts_from(0, first)},
                                           {0b10, 8, hosts_from(first, 1'001 - first)}};
    HostSetSearch search(groups, {4'000, 4'000}, true);
    const auto set = search.find(1'000);
    CHECK(set.has_value() == (first == 500));
    CHECK_FALSE(search.is_given_up());
  }
}

TEST_CASE("an exact cover beyond the bound is given up, and says so") {
  // Every host serves three of 39 kinds.
  std::mt19937 random(3);
  std::vector<HostGroup> groups;
  for (std::size_t i = 0; i < 90; ++i) {
    std::uint64_t kinds = 0;
    while (std::bitset<64>(kinds).count() < 3) kinds |= std::uint64_t{1} << (random() % 39);
    groups.push_back({kinds, 3, {i}});
  }
  std::vector<int> of_kind(39, 1);
  HostSetSearch search(groups, of_kind, true);
  const auto set = search.find(13);
  CHECK_FALSE(set);
  CHECK(search.is_given_up());
}
