// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/place.hpp"

#include "config_schema/text/text.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("places are found line by line, columns in characters") {
  PlaceCursor places("f",
                     "ab\n\xc3\xb6"
                     "d\n\nx");
  CHECK(places.at(0) == Place{"f", 1, 1, {}});
  CHECK(places.at(1) == Place{"f", 1, 2, {}});
  CHECK(places.at(2) == Place{"f", 1, 3, {}});
  CHECK(places.shown_at(5) == Place{"f", 2, 2,
                                    "\xc3\xb6"
                                    "d"});
  CHECK(places.at(7) == Place{"f", 3, 1, {}});
  CHECK(places.shown_at(8) == Place{"f", 4, 1, "x"});
  CHECK(places.at(9) == Place{"f", 4, 2, {}});
  CHECK(places.at(1000) == Place{"f", 4, 2, {}});
}

TEST_CASE("a place before the last one is found as well") {
  PlaceCursor places("f", "a\nb\nc");
  CHECK(places.at(4).line == 3);
  CHECK(places.shown_at(0) == Place{"f", 1, 1, "a"});
  CHECK(places.at(2).line == 2);
}

TEST_CASE("columns are counted from the last one asked for") {
  const std::string line = "\xc3\xa9: \xc3\xa9x";
  PlaceCursor places("f", line);
  for (const std::size_t offset : {0, 2, 4, 4, 7, 3, 0, 6})
    CHECK(places.at(offset).column == column_of(line, offset));
}

TEST_CASE("very long lines are not shown") {
  const std::string text(10'000, 'x');
  PlaceCursor places("f", text);
  CHECK(places.shown_at(9'000) == Place{"f", 1, 9'001, {}});
  CHECK(places.line().size() == 10'000);
}
