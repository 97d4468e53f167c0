// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/choose_hosts.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "launcher/placement/what_fits.hpp"
#include "launcher/placement/whole_hosts.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

Room idle_room(int slots) { return {slots, slots, std::int64_t{slots} * 10'000, 10'000}; }

Room busy_room(int slots, int free) {
  return {free, free == slots ? slots : 0, std::int64_t{free} * 10'000, 10'000};
}

std::vector<Room> rooms_of(const std::vector<int>& sizes) {
  std::vector<Room> rooms;
  for (const int size : sizes) rooms.push_back(idle_room(size));
  return rooms;
}

// Whether any choice of workers per room obeys the rule: the definition, tried exhaustively.
bool any_placement(const std::vector<Room>& rooms, int workers, const PlacementRule& rule) {
  std::vector<int> counts(rooms.size());
  const auto obeys = [&] {
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts[i] > 0) used.push_back(i);
    const bool one_host = used.size() == 1;
    switch (rule.policy) {
      case PlacementPolicy::pack:
      case PlacementPolicy::spread:
        return true;
      case PlacementPolicy::strict_pack:
        return one_host;
      case PlacementPolicy::strict_spread:
        return std::all_of(used.begin(), used.end(), [&](std::size_t i) { return counts[i] == 1; });
      case PlacementPolicy::automatic:
        break;
    }
    if (one_host) return true;
    const bool whole = std::all_of(used.begin(), used.end(), [&](std::size_t i) {
      return rooms[i].is_whole() && counts[i] == rooms[i].fill;
    });
    const bool equal = std::all_of(
        used.begin(), used.end(), [&](std::size_t i) { return counts[i] == counts[used.front()]; });
    return whole && (equal || rule.allow_heterogeneous);
  };
  const std::function<bool(std::size_t, int)> search = [&](std::size_t room, int left) {
    if (room == rooms.size()) return left == 0 && obeys();
    for (counts[room] = 0; counts[room] <= std::min(left, rooms[room].workers); ++counts[room])
      if (search(room + 1, left - counts[room])) return true;
    counts[room] = 0;
    return false;
  };
  return search(0, workers);
}

}  // namespace

TEST_CASE("of equally good hosts the first is taken, however busy the other is") {
  const std::vector<Room> rooms{idle_room(2), busy_room(4, 2)};
  CHECK(choose_hosts(rooms, 2, {}) == std::vector<int>{2, 0});
}

TEST_CASE("packing takes the first of equally good hosts, however roomy the other is") {
  const std::vector<Room> rooms{{2, 0, 40'000, 10'000}, {3, 0, 40'000, 10'000}};
  CHECK(choose_hosts(rooms, 2, {.policy = PlacementPolicy::pack}) == std::vector<int>{2, 0});
}

TEST_CASE("a host in use is no whole host") {
  CHECK_FALSE(choose_hosts({idle_room(4), busy_room(8, 4)}, 8, {}));
  CHECK(choose_hosts({idle_room(4), idle_room(4)}, 8, {}) == std::vector<int>{4, 4});
}

TEST_CASE("a placement is found exactly when there is one") {
  std::mt19937 random(20240607);
  const auto below = [&](int end) { return static_cast<int>(random() % end); };
  constexpr PlacementPolicy policies[] = {PlacementPolicy::automatic, PlacementPolicy::pack,
                                          PlacementPolicy::spread, PlacementPolicy::strict_pack,
                                          PlacementPolicy::strict_spread};
  for (int round = 0; round < 3'000; ++round) {
    std::vector<Room> rooms;
    std::vector<int> sizes;
    for (int i = below(5) + 1; i > 0; --i) {
      const int size = below(6) + 1;
      rooms.push_back(below(4) == 0 ? busy_room(size, below(size + 1)) : idle_room(size));
      sizes.push_back(rooms.back().workers);
    }
    const PlacementRule rule{policies[below(5)], false, below(2) == 0};
    const int workers = below(18) + 1;
    CAPTURE(sizes, workers, static_cast<int>(rule.policy), rule.allow_heterogeneous);
    const bool is_possible = any_placement(rooms, workers, rule);
    const auto counts = choose_hosts(rooms, workers, rule);
    REQUIRE(counts.has_value() == is_possible);
    REQUIRE(WhatFits(rooms, rule).fits(workers) == is_possible);
    if (!counts) continue;
    REQUIRE(std::accumulate(counts->begin(), counts->end(), 0) == workers);
    for (std::size_t i = 0; i < rooms.size(); ++i) REQUIRE((*counts)[i] <= rooms[i].workers);
  }
}

TEST_CASE("mixed whole hosts are as few as possible, the largest first") {
  CHECK(choose_hosts(rooms_of({1, 1, 1, 1, 2, 3, 4}), 6, {.allow_heterogeneous = true}) ==
        std::vector<int>{0, 0, 0, 0, 2, 0, 4});
}

TEST_CASE("a search for a sum that would be too large is not begun") {
  std::vector<SizeGroup> groups;
  for (int size = 1; size <= 1'000; ++size) groups.push_back({size, 1});
  CHECK(is_searchable(groups, 20'000));
  CHECK_FALSE(is_searchable(groups, 100'000'000));
  CHECK_FALSE(hosts_that_sum(groups, 100'000'000));
  CHECK(sums_of_hosts(groups, 100'000'000).empty());
}
