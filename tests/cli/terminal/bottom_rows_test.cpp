// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/bottom_rows.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

constexpr ScreenSize usual{.columns = 80, .lines = 24};

using Rows = std::vector<std::string>;

}  // namespace

TEST_CASE("rows are taken away as they were drawn") {
  BottomRows rows;
  CHECK(rows.taken_away(usual).empty());
  CHECK(rows.drawn({"a", "b", "c"}, usual) == "a\nb\nc\n");
  CHECK(rows.is_drawn());
  CHECK(rows.taken_away(usual) == "\x1b[3A\x1b[J");
  CHECK_FALSE(rows.is_drawn());
  CHECK(rows.taken_away(usual).empty());
}

TEST_CASE("of rows a third of the screen is drawn, and the last one") {
  BottomRows rows;
  CHECK(rows.drawn(Rows(20, "x"), {.columns = 40, .lines = 12}) == "x\nx\nx\nx\n");
  CHECK(rows.drawn({"1", "2", "3", "4", "5"}, {.columns = 40, .lines = 12}) == "1\n2\n3\n5\n");
}

TEST_CASE("a row never reaches the last column, where terminals go on in the next line") {
  BottomRows rows;
  CHECK(rows.drawn({std::string(100, 'x')}, {.columns = 40, .lines = 12}) ==
        std::string(36, 'x') + "...\n");
  // Two columns each.
  CHECK(rows.drawn({"\xe5\xae\x9f\xe5\xae\x9f\xe5\xae\x9f"}, {.columns = 6, .lines = 12}) ==
        "\xe5\xae\x9f...\n");
}

TEST_CASE("where the screen has become too small, rows stay where they are") {
  BottomRows rows;
  const Rows wide(3, std::string(60, 'x'));
  rows.drawn(wide, usual);
  CHECK(rows.taken_away(ScreenSize{.columns = 60, .lines = 24}).empty());
  rows.drawn(wide, usual);
  CHECK(rows.taken_away(ScreenSize{.columns = 61, .lines = 24}) == "\x1b[3A\x1b[J");
  rows.drawn(wide, usual);
  CHECK(rows.taken_away(ScreenSize{.columns = 80, .lines = 3}).empty());
  rows.drawn(wide, usual);
  CHECK(rows.taken_away(std::nullopt).empty());  // somebody is asked for a password
  CHECK_FALSE(rows.is_drawn());
}
