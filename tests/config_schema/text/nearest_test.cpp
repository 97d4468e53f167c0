// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/nearest.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("a swap of neighbours is one edit") {
  CHECK(edit_distance("ncll", "nccl", 3) == 1);
  CHECK(edit_distance("nclc", "nccl", 3) == 1);
  CHECK(edit_distance("slot", "slots", 3) == 1);
  CHECK(edit_distance("", "abc", 3) == 3);
  CHECK(edit_distance("same", "same", 0) == 0);
}

TEST_CASE("a distance beyond the limit is only that") {
  CHECK(edit_distance("aaaa", "bbbb", 2) == 3);
  CHECK(edit_distance("a", "abcdefgh", 2) == 3);
}

TEST_CASE("the nearest word is found, or none") {
  const std::vector<std::string> keys = {"name", "slots", "max_slots", "port"};
  CHECK(nearest("slot", keys) == "slots");
  CHECK(nearest("MAX-SLOTS", keys) == "max_slots");
  CHECK(nearest("prot", keys) == "port");
  CHECK_FALSE(nearest("zebra", keys));
  CHECK(nearest("slots", {"a", "slots_per_trial"}) == "slots_per_trial");
  CHECK_FALSE(nearest("", keys));
  CHECK_FALSE(nearest(std::string(10'000, 'x'), keys));
  CHECK(did_you_mean("nmae", keys) == "did you mean 'name'?");
}
