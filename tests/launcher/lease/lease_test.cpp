// SPDX-License-Identifier: Apache-2.0
#include "launcher/lease/lease.hpp"

#include <random>

#include "tests/catch.hpp"

using namespace train;

namespace {

using Kind = LeaseKey::Kind;
using Ranges = std::vector<LeaseRange>;

LeaseWant of_slot(std::uint64_t amount) { return {{Kind::place, 0, {}}, amount, lease_units}; }

}  // namespace

TEST_CASE("ranges that overlap or touch become one") {
  CHECK(merged({{5, 7}, {0, 3}, {3, 4}, {6, 9}, {2, 2}}) == Ranges{{0, 4}, {5, 9}});
  CHECK(merged({}).empty());
  CHECK(size_of({{0, 4}, {5, 9}}) == 8);
}

TEST_CASE("what is left of ranges is what none of the others has") {
  CHECK(without({{0, 10}}, {}) == Ranges{{0, 10}});
  CHECK(without({{0, 10}}, {{0, 10}}).empty());
  CHECK(without({{0, 10}}, {{2, 4}, {6, 20}}) == Ranges{{0, 2}, {4, 6}});
  CHECK(without({{0, 3}, {5, 8}}, {{2, 6}}) == Ranges{{0, 2}, {6, 8}});
}

TEST_CASE("a whole slot is had only where nobody has a part of it") {
  CHECK(choose_ranges(of_slot(lease_units), {}) == Ranges{{0, lease_units}});
  CHECK_FALSE(choose_ranges(of_slot(lease_units), {{9'999, 10'000}}));
}

TEST_CASE("parts are taken from the lowest free units on, in pieces where need be") {
  CHECK(choose_ranges(of_slot(5'000), {}) == Ranges{{0, 5'000}});
  CHECK(choose_ranges(of_slot(5'000), {{0, 5'000}}) == Ranges{{5'000, 10'000}});
  CHECK(choose_ranges(of_slot(5'000), {{1'000, 3'000}, {6'000, 7'000}}) ==
        Ranges{{0, 1'000}, {3'000, 6'000}, {7'000, 8'000}});
  CHECK_FALSE(choose_ranges(of_slot(5'001), {{0, 5'000}}));
}

TEST_CASE("what others hold beyond the capacity that is declared here is no free unit") {
  const LeaseWant cpus{{Kind::cpus, 0, {}}, 4 * lease_units, 4 * lease_units};
  CHECK(choose_ranges(cpus, {{4 * lease_units, 64 * lease_units}}) == Ranges{{0, 4 * lease_units}});
  CHECK_FALSE(choose_ranges(cpus, {{3 * lease_units, 64 * lease_units}}));
}

TEST_CASE("random takers never hold a unit twice, and fail only where too few are free") {
  std::mt19937_64 chance(15);
  for (int round = 0; round < 500; ++round) {
    std::vector<Ranges> takers;
    Ranges held;
    for (int taker = 0; taker < 12; ++taker) {
      const LeaseWant want = of_slot(1 + chance() % 4'000);
      const auto chosen = choose_ranges(want, held);
      const std::uint64_t free = lease_units - size_of(held);
      REQUIRE(chosen.has_value() == (free >= want.amount));
      if (!chosen) continue;
      CHECK(size_of(*chosen) == want.amount);
      Ranges all = held;
      all.insert(all.end(), chosen->begin(), chosen->end());
      const std::uint64_t sum = size_of(held) + want.amount;
      held = merged(std::move(all));
      CHECK(size_of(held) == sum);
      CHECK(held.back().end <= lease_units);
      takers.push_back(*chosen);
      if (chance() % 3 > 0) continue;
      held = without(held, takers.front());
      takers.erase(takers.begin());
    }
  }
}

TEST_CASE("every kind has a word, and a file of its own") {
  for (const Kind kind : {Kind::place, Kind::cuda, Kind::rocm, Kind::device, Kind::slot, Kind::cpus,
                          Kind::memory, Kind::custom})
    CHECK(lease_kind_of(to_string(kind)) == kind);
  CHECK_FALSE(lease_kind_of("gpu"));
  CHECK(lease_file_name({Kind::place, 3, {}}) == "place-3");
  CHECK(lease_file_name({Kind::cuda, 3, {}}) == "cuda-3");
  CHECK(lease_file_name({Kind::cuda, 3, "GPU-5a00"}) == "cuda-GPU-5a00");
  CHECK(lease_file_name({Kind::cpus, 0, {}}) == "cpus");
  CHECK(lease_file_name({Kind::memory, 0, {}}) == "memory");
}

TEST_CASE("no name of a resource leaves the folder, or is too long for it") {
  const auto file = [](const std::string& name) {
    return lease_file_name({Kind::custom, 0, name});
  };
  CHECK(file("ssd") == "custom-ssd");
  CHECK(file("../../etc/passwd") == "custom-..%2F..%2Fetc%2Fpasswd");
  CHECK(file(std::string("a\0b", 3)) == "custom-a%00b");
  CHECK(file("a%2F") == "custom-a%252F");
  const std::string longest(longest_resource_name, '/');
  CHECK(file(longest).size() < 160);
  CHECK(file(longest) != file(longest.substr(1)));
  CHECK(file(longest) == file(longest));
}

TEST_CASE("a slot that is asked for by number is a GPU where there are enough of them") {
  const auto slot = [](int index, int slots, std::vector<int> cuda, std::vector<int> rocm) {
    return lease_file_name(settled({Kind::slot, index, {}}, slots, cuda, rocm));
  };
  CHECK(slot(1, 2, {6, 7}, {}) == "cuda-7");
  CHECK(slot(1, 2, {}, {4, 5}) == "rocm-5");
  CHECK(slot(1, 2, {}, {}) == "place-1");
  CHECK(slot(1, 4, {6, 7}, {}) == "place-1");
  CHECK(slot(9, 2, {6, 7}, {}) == "place-9");
  CHECK(settled({Kind::place, 1, {}}, 2, {6, 7}, {}).kind == Kind::place);
}
