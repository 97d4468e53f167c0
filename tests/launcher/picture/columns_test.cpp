// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/columns.hpp"

#include "config_schema/text/text.hpp"
#include "tests/catch.hpp"

using namespace train;

TEST_CASE("columns are counted as terminals show them") {
  CHECK(count_columns("") == 0);
  CHECK(count_columns("node01") == 6);
  CHECK(count_columns("größe") == 5);
  CHECK(count_columns("e\u0301") == 1);  // with a combining accent
  CHECK(count_columns("実験") == 4);
  CHECK(count_columns("\U0001f680") == 2);  // a rocket
  CHECK(count_columns("a\xff"
                      "b") == 3);
  CHECK(count_columns("\xe5\xae") == 2);          // half of a character
  CHECK(count_columns("\xe0\x80\x80") == 3);      // overlong
  CHECK(count_columns("\xed\xa0\x80") == 3);      // a surrogate
  CHECK(count_columns("\xf4\x90\x80\x80") == 4);  // beyond Unicode
}

TEST_CASE("a shortened text fits, keeps characters whole and says that something is left out") {
  const std::string text = "e\u0301実験 größe \U0001f680 of a long name";
  for (std::size_t columns = 4; columns < 40; ++columns) {
    CAPTURE(columns);
    for (const std::string& cut : {shortened(text, columns), shortened_inside(text, columns)}) {
      CHECK(count_columns(cut) <= columns);
      CHECK_FALSE(find_text_fault(cut));
      CHECK((cut == text) == (columns >= count_columns(text)));
      if (cut != text) CHECK(cut.find("...") != std::string::npos);
    }
  }
  CHECK(shortened("abcdefgh", 6) == "abc...");
  CHECK(shortened_inside("abcdefghij", 8) == "abc...ij");
  CHECK(shortened_inside("abcdefghij", 10) == "abcdefghij");
}

TEST_CASE("a text is padded by what is shown of it") {
  CHECK(padded("実", 4) == "実  ");
  CHECK(padded("long", 2) == "long");
}
