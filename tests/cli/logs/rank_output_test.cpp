// SPDX-License-Identifier: Apache-2.0
#include "cli/logs/rank_output.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("--tee takes all, none, or ranks and ranges") {
  CHECK(parse_tee("all", "--tee")->shows(7));
  CHECK_FALSE(parse_tee("none", "--tee")->shows(0));
  const auto tee = parse_tee("rank:0,4-6", "--tee");
  REQUIRE(tee);
  CHECK(tee->ranks == std::set<int>{0, 4, 5, 6});
  CHECK(tee->shows(5));
  CHECK_FALSE(tee->shows(1));
}

TEST_CASE("--tee refuses everything else, and says what it takes") {
  const auto text = GENERATE("", "some", "rank", "rank:", "rank:x", "rank:1,", "rank:3-1",
                             "rank:-1", "rank:1-", "rank:1 ", "rank:0-99999999", "ALL");
  CAPTURE(text);
  const auto tee = parse_tee(text, "--tee");
  REQUIRE_FALSE(tee);
  CHECK(tee.error().error_class == ErrorClass::usage);
  CHECK(render(tee.error()).find("rank:0,4-7") != std::string::npos);
}
