// SPDX-License-Identifier: Apache-2.0
#include "launcher/hosts_summary.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("runs of numbered names are folded") {
  CHECK(fold_names({"node01", "node02", "node03", "gpu-b"}) == "node[01-03], gpu-b");
  CHECK(fold_names({"n9", "n10", "n11"}) == "n[9-11]");
  CHECK(fold_names({"n1.lab", "n2.lab", "n4.lab"}) == "n[1-2].lab, n4.lab");
  CHECK(fold_names({"n2", "n1"}) == "n2, n1");
  CHECK(fold_names({"n09", "n10", "n1"}) == "n[09-10], n1");
  CHECK(fold_names({"a", "b", "c", "d"}, 2) == "a, b and 2 more");
  CHECK(fold_names({"99999999999999999999", "b"}) == "99999999999999999999, b");
}

TEST_CASE("amounts of many hosts are grouped") {
  CHECK(list_amounts({{"a", "4"}, {"b", "2"}}) == "a 4, b 2");
  std::vector<HostAmount> many;
  for (int i = 1; i <= 8; ++i) many.push_back({"n" + std::to_string(i), i == 8 ? "2" : "4"});
  CHECK(list_amounts(many) == "n[1-7] 4 each, n8 2");
  many.clear();
  for (int i = 1; i <= 8; ++i) many.push_back({"n" + std::to_string(i), std::to_string(i)});
  CHECK(list_amounts(many) == "n1 1, n2 2, n3 3, n4 4, and 4 more hosts");
}
