// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/group_patterns.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

using Groups = std::vector<GroupPatterns::Group>;

}  // namespace

TEST_CASE("named groups are found anywhere in a line, in their order") {
  const GroupPatterns patterns({R"(epoch (?P<epoch>\d+): loss (?P<loss>[0-9.e+-]+))"});
  CHECK(patterns.found_in("[7] epoch 12: loss 1e-3, epoch 13: loss 2") ==
        Groups{{"epoch", "12"}, {"loss", "1e-3"}});
  CHECK(patterns.found_in("epoch twelve: loss 1").empty());
  CHECK(patterns.found_in("").empty());
}

TEST_CASE("a group that takes no part in a match is not among them, and an empty one is") {
  const GroupPatterns patterns({"(?:a=(?P<a>[0-9]+))?(?:b=(?P<b>[0-9]*))( c)?"});
  CHECK(patterns.found_in("b=") == Groups{{"b", ""}});
  CHECK(patterns.found_in("a=1b=2 c") == Groups{{"a", "1"}, {"b", "2"}});
}

TEST_CASE("each pattern is looked for by itself") {
  const GroupPatterns patterns({"acc (?P<acc>.)", "loss (?P<loss>.)", "x"});
  CHECK(patterns.found_in("loss 2, acc 3, x") == Groups{{"acc", "3"}, {"loss", "2"}});
  CHECK(GroupPatterns({}).found_in("loss 2").empty());
}

TEST_CASE("the names of groups are told in their order") {
  using Names = std::vector<std::string>;
  CHECK(group_names("(?P<z>a)(b)(?P<a>c(?P<m>d))") == Names{"z", "a", "m"});
  CHECK(group_names("(a)").empty());
}
