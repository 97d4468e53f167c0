// SPDX-License-Identifier: Apache-2.0
#include "launcher/hyperparameters/search_random.hpp"

#include <nlohmann/json.hpp>

#include "tests/catch.hpp"

using namespace train;
using nlohmann::json;

namespace {

std::vector<std::uint64_t> wholes(std::uint32_t seed, std::uint64_t most, int count) {
  SearchRandom random(seed);
  std::vector<std::uint64_t> drawn;
  for (int i = 0; i < count; ++i) drawn.push_back(random.whole(most));
  return drawn;
}

}  // namespace

TEST_CASE("words are those of MT19937") {
  SearchRandom random(5489);
  CHECK(random.word() == 3499211612);
  CHECK(random.word() == 581869302);
  CHECK(random.word() == 3890346734);
  // The C++ standard (26.6.5) gives this one.
  for (int i = 3; i < 9999; ++i) random.word();
  CHECK(random.word() == 4123659995);
}

TEST_CASE("the unit interval is numpy's") {
  SearchRandom random(1);
  CHECK(random.unit() == 0.417022004702574);
  CHECK(random.unit() == 0.7203244934421581);
}

TEST_CASE("whole numbers are drawn until one fits") {
  CHECK(wholes(123, 99, 8) == std::vector<std::uint64_t>{66, 92, 98, 17, 83, 57, 86, 97});
  SearchRandom random(84);
  std::vector<int> drawn;
  for (int i = 0; i < 8; ++i) drawn.push_back(-10 + static_cast<int>(random.whole(19)));
  CHECK(drawn == std::vector<int>{0, 7, 4, 3, -10, 4, -9, 0});
}

TEST_CASE("large whole numbers take two words") {
  CHECK(wholes(999, (std::uint64_t{1} << 60) - 11, 2) ==
        std::vector<std::uint64_t>{985573361606668636, 507696633659605473});
  SearchRandom twice(7);
  SearchRandom words(7);
  const std::uint64_t high = words.word();
  CHECK(twice.whole(~std::uint64_t{0}) == ((high << 32) | words.word()));
  CHECK(twice == words);
}

TEST_CASE("nothing is drawn where there is no choice") {
  SearchRandom random(3);
  CHECK(random.whole(0) == 0);
  CHECK(random == SearchRandom(3));
}

TEST_CASE("2^32 - 1 takes one word, 2^32 two") {
  SearchRandom one(5);
  one.whole(UINT32_MAX);
  SearchRandom expected(5);
  expected.word();
  CHECK(one == expected);
  one.whole(std::uint64_t{1} << 32);
  CHECK_FALSE(one == expected);
}

TEST_CASE("normal numbers come in pairs") {
  SearchRandom random(42);
  const double first = random.normal();
  SearchRandom at_pair = random;
  // numpy.random.RandomState(42).normal(size=2)
  CHECK(first == Approx(0.4967141530112327).epsilon(1e-15));
  CHECK(random.normal() == Approx(-0.13826430117118466).epsilon(1e-15));
  CHECK_FALSE(at_pair == random);
}

TEST_CASE("random numbers go on from a snapshot") {
  SearchRandom random(11);
  for (int i = 0; i < 700; ++i) random.word();
  random.normal();
  const std::string text = random.snapshot().dump();
  auto restored = SearchRandom::restored(json::parse(text));
  REQUIRE(restored);
  CHECK(*restored == random);
  CHECK(restored->normal() == random.normal());
  CHECK(restored->word() == random.word());
  CHECK(restored->snapshot() == random.snapshot());
}

TEST_CASE("damaged random numbers are refused") {
  const json whole = SearchRandom(1).snapshot();
  CHECK_FALSE(SearchRandom::restored(json()));
  for (const char* name : {"words", "next", "normal"}) {
    json without = whole;
    without.erase(name);
    CHECK_FALSE(SearchRandom::restored(without));
    json other = whole;
    other[name] = "x";
    CHECK_FALSE(SearchRandom::restored(other));
  }
  json far = whole;
  far["next"] = 625;
  CHECK_FALSE(SearchRandom::restored(far));
  json odd = whole;
  odd["words"].get_ref<std::string&>()[17] = 'g';
  CHECK_FALSE(SearchRandom::restored(odd));
}
