// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/summaries.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("amounts of many hosts are grouped") {
  CHECK(list_amounts({{"a", "4"}, {"b", "2"}}) == "a 4, b 2");
  std::vector<HostAmount> many;
  for (int i = 1; i <= 8; ++i) many.push_back({"n" + std::to_string(i), i == 8 ? "2" : "4"});
  CHECK(list_amounts(many) == "n[1-7] 4 each, n8 2");
  many.clear();
  for (int i = 1; i <= 8; ++i) many.push_back({"n" + std::to_string(i), std::to_string(i)});
  CHECK(list_amounts(many) == "n1 1, n2 2, n3 3, n4 4, and 4 more hosts");
}
