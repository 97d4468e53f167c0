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
  CHECK_FALSE(find_text_fault("tab\t line\r\n caf\xc3\xa9 \xf0\x9f\x98\x80"));
  CHECK(find_text_fault("a\nb\x01")->line == 2);
  CHECK(
      find_text_fault("\xff\xfe"
                      "a"));
  CHECK(find_text_fault("\xc0\xaf"));          // overlong
  CHECK(find_text_fault("\xed\xa0\x80"));      // surrogate
  CHECK(find_text_fault("\xf4\x90\x80\x80"));  // beyond Unicode
  CHECK(find_text_fault("\xe2\x82"));          // cut off
}

TEST_CASE("columns count characters") {
  CHECK(column_of("abc", 2) == 3);
  CHECK(column_of("\xc3\xa9: 1", 4) == 4);
}

TEST_CASE("words join as people write them") {
  CHECK(join_words({"a"}) == "a");
  CHECK(join_words({"a", "b", "c"}, "or") == "a, b or c");
}

TEST_CASE("a swap of neighbours is one edit") {
  CHECK(edit_distance("ncll", "nccl", 3) == 1);
  CHECK(edit_distance("nclc", "nccl", 3) == 1);
  CHECK(edit_distance("slot", "slots", 3) == 1);
  CHECK(edit_distance("", "abc", 3) == 3);
  CHECK(edit_distance("same", "same", 0) == 0);
}

TEST_CASE("a distance beyond the limit is only that") {
  CHECK(edit_distance("aaaa", "bbbb", 2) == 3);
  CHECK(edit_distance("a", "abcdefgh", 2) == 3);
}

TEST_CASE("the nearest word is found, or none") {
  const std::vector<std::string> keys = {"name", "slots", "max_slots", "port"};
  CHECK(nearest("slot", keys) == "slots");
  CHECK(nearest("MAX-SLOTS", keys) == "max_slots");
  CHECK(nearest("prot", keys) == "port");
  CHECK_FALSE(nearest("zebra", keys));
  CHECK(nearest("slots", {"a", "slots_per_trial"}) == "slots_per_trial");
  CHECK_FALSE(nearest("", keys));
  CHECK_FALSE(nearest(std::string(10'000, 'x'), keys));
  CHECK(did_you_mean("nmae", keys) == "did you mean 'name'?");
}

TEST_CASE("a whole number is all of a text, and within its bounds") {
  CHECK(whole_number("0", 0, 5) == 0);
  CHECK(whole_number("5", 0, 5) == 5);
  for (const char* text : {"", "6", "-1", "+1", " 1", "1 ", "1x", "0x1", "99999999999"}) {
    INFO(text);
    CHECK_FALSE(whole_number(text, 0, 5));
  }
  CHECK_FALSE(whole_number("1", 2, 5));
}

TEST_CASE("hashes are those of FNV-1a, and the same everywhere") {
  CHECK(hash_of("") == 0xcbf29ce484222325);
  CHECK(hash_of("a") == 0xaf63dc4c8601ec8c);
  CHECK(hash_of("foobar") == 0x85944171f73967e8);
}
