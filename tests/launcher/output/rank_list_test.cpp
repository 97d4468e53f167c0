// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/rank_list.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("ranks are listed as users write them") {
  for (const char* text : {"0", "0-3", "0,4-7", "1,3,5,7,9,11-1048575"}) {
    const auto ranks = parse_rank_list(text);
    REQUIRE(ranks);
    CHECK(rank_list_text({ranks->begin(), ranks->end()}) == text);
  }
  CHECK(rank_list_text({0, 2, 4, 6, 8, 10, 12, 13, 15}) == "0,2,4,6,8,10 and 3 more");
}
