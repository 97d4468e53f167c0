// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/line_patterns.hpp"

#include "tests/catch.hpp"

using namespace train;

using Found = std::vector<int>;

TEST_CASE("patterns are looked for anywhere in a line") {
  const LinePatterns patterns({"CUDA out of memory", "^rank [0-9]+$", "(?i)error", ".*"});
  CHECK(patterns.found_in("RuntimeError: CUDA out of memory. Tried") == Found{0, 2, 3});
  CHECK(patterns.found_in("rank 12") == Found{1, 3});
  CHECK(patterns.found_in("no rank 12") == Found{3});
  CHECK(patterns.found_in("") == Found{3});
  CHECK(patterns.found_in(std::string_view("a\0error", 7)) == Found{2, 3});
}

TEST_CASE("without patterns nothing is found") {
  CHECK(LinePatterns({}).found_in("anything").empty());
}

TEST_CASE("bytes that are no text do no harm") {
  const LinePatterns patterns({"b+", "\\xff"});
  CHECK(patterns.found_in("a\xff\xfe"
                          "bb\xc0") == Found{0});
}

TEST_CASE("what is no expression of RE2's has its fault named") {
  CHECK_FALSE(pattern_fault("a(b|c)+"));
  CHECK_FALSE(pattern_fault(""));
  for (const char* wrong : {"a(b", "[z-a]", "(?=a)", "\\1", "*", "a{2,1}", "\xff"}) {
    INFO(wrong);
    const auto fault = pattern_fault(wrong);
    REQUIRE(fault);
    CHECK_FALSE(fault->empty());
  }
}

TEST_CASE("many patterns that are large together are still found, one by one") {
  std::vector<std::string> many;
  for (int i = 0; i < 40; ++i)
    many.push_back("(a|b){0,200}x" + std::to_string(i) + "(c|d){0,200}$");
  const LinePatterns patterns(many);
  CHECK(patterns.found_in("ababx7cdcd") == Found{7});
  CHECK(patterns.found_in("ababx17") == Found{17});
  CHECK(patterns.found_in("zzz").empty());
}
