// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/text.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("byte order marks and carriage returns go") {
  CHECK(normalize_text("\xef\xbb\xbf"
                       "a\r\nb\r\n") == "a\nb\n");
  CHECK(normalize_text("a\rb") == "a\rb");
  // A text that is normalized twice has one form: places are those of either.
  CHECK(normalize_text("\xef\xbb\xbf\xef\xbb\xbf\r\r\r\na\r") == "\na\r");
}

TEST_CASE("what is no text is found, with its line") {
  CHECK_FALSE(find_no_text("tab\t line\r\n caf\xc3\xa9 \xf0\x9f\x98\x80"));
  CHECK(find_no_text("a\nb\x01")->line == 2);
  CHECK(
      find_no_text("\xff\xfe"
                   "a"));
  CHECK(find_no_text("\xc0\xaf"));          // overlong
  CHECK(find_no_text("\xed\xa0\x80"));      // surrogate
  CHECK(find_no_text("\xf4\x90\x80\x80"));  // beyond Unicode
  CHECK(find_no_text("\xe2\x82"));          // cut off
}

TEST_CASE("columns count characters") {
  CHECK(column_of("abc", 2) == 3);
  CHECK(column_of("\xc3\xa9: 1", 4) == 4);
}

TEST_CASE("words join as people write them") {
  CHECK(join_words({"a"}) == "a");
  CHECK(join_words({"a", "b", "c"}, "or") == "a, b or c");
}
