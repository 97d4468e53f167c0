// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/terminal_text.hpp"

#include <fmt/format.h>

#include <random>

#include "config_schema/text/text.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

std::string utf8_of(unsigned code) {
  std::string text;
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    text += static_cast<char>(0xf0 | code >> 18);
    text += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  }
  return text;
}

// The rule, character by character.
bool is_shown_as_it_is(unsigned code) {
  if (code == '\t') return true;
  return code >= 0x20 && !(code >= 0x7f && code <= 0x9f) && code != 0x061c && code != 0x200e &&
         code != 0x200f && !(code >= 0x2028 && code <= 0x202e) &&
         !(code >= 0x2066 && code <= 0x2069);
}

}  // namespace

TEST_CASE("every character is shown by the same rule, wherever it stands") {
  for (unsigned code = 0; code <= 0x10ffff; ++code) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const std::string character = utf8_of(code);
    std::string expected = character;
    if (!is_shown_as_it_is(code))
      expected = code < 0x80 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
    const std::size_t before = code % 11;
    const std::string outside = std::string(before, 'a') + character + "0123456789";
    if (escaped(outside) != std::string(before, 'a') + expected + "0123456789") FAIL(code);
  }
}

TEST_CASE("a byte that is no UTF-8 is shown as a number") {
  CHECK(escaped("\x9b[31m") == "\\x9b[31m");  // C1 of a terminal that takes eight bits
  CHECK(escaped("\xc2") == "\\xc2");
  CHECK(escaped("\xe2\x80") == "\\xe2\\x80");
  CHECK(escaped("\xc0\x9b \xe0\x82\x9b") == "\\xc0\\x9b \\xe0\\x82\\x9b");  // overlong
  CHECK(escaped("\xed\xa0\x80 \xff\xf5") == "\\xed\\xa0\\x80 \\xff\\xf5");
  CHECK(escaped(std::string_view("a\0b", 3)) == "a\\x00b");
}

TEST_CASE("of any bytes nothing is left that steers a terminal") {
  std::mt19937 random(6);
  const std::string special(
      "\x1b\x7f\xc2\x9b\xa0\t\r\n\x1f\x20\x80\xff\xe2\x80\x81\xa8\xae\xa6\xd8\x9c\0", 21);
  for (int round = 0; round < 50'000; ++round) {
    std::string outside(random() % 40, 'x');
    for (char& c : outside)
      if (random() % 3 != 0) c = special[random() % special.size()];
    const std::string shown = escaped(outside);
    REQUIRE_FALSE(find_text_fault(shown));
    REQUIRE(plain_length(shown) == shown.size());
    REQUIRE(escaped(shown) == shown);
  }
}

TEST_CASE("a sentence is ours, and what it is about was escaped") {
  const std::string outside = "a\ntrain: b\x1b[2J";
  CHECK(TerminalText("one\n  two").text() == "one\n  two");
  CHECK(TerminalText(outside).text() == "a\\x0atrain: b\\x1b[2J");
  CHECK(terminal_text("{} of\n  '{}'", 3, outside).text() == "3 of\n  'a\\x0atrain: b\\x1b[2J'");
  CHECK(terminal_text("so: {}", terminal_text("x\n  {}", outside)).text() ==
        "so: x\n  a\\x0atrain: b\\x1b[2J");
  CHECK(("warning: " + TerminalText(outside)).text() == "warning: a\\x0atrain: b\\x1b[2J");
  static_assert(!std::is_convertible_v<std::string, TerminalText>);
  static_assert(!std::is_convertible_v<std::string_view, TerminalText>);
  static_assert(!std::is_convertible_v<const char*, TerminalText>);
  static_assert(!std::is_convertible_v<char(&)[4], TerminalText>);
}

TEST_CASE("of what is long the begin and the end are shown, escaped and with whole characters") {
  const std::string shown = escaped_and_shortened("begin" + std::string(10 << 20, '\x1b') + "end");
  CHECK(shown.size() < 3100);
  CHECK(shown.starts_with("begin\\x1b"));
  CHECK(shown.ends_with("\\x1bend"));
  CHECK(escaped_and_shortened(std::string(2000, '\n')).size() < 3100);
  std::string umlauts = "x";
  for (int i = 0; i < 5000; ++i) umlauts += "\xc3\xa4";
  for (const std::string& text : {umlauts, "x" + umlauts})
    CHECK_FALSE(find_text_fault(escaped_and_shortened(text)));
}

TEST_CASE("a text in JSON's quotes is JSON, whatever its bytes are") {
  CHECK(json_quoted("a\"\\\n\r\t\x01/") == R"("a\"\\\n\r\t\u0001/")");
  CHECK(json_quoted("\xff caf\xc3") == "\"\\ufffd caf\\ufffd\"");
  CHECK(json_quoted("\xed\xa0\x80 \xf0\x9f\x99\x82") ==
        "\"\\ufffd\\ufffd\\ufffd \xf0\x9f\x99\x82\"");
}

TEST_CASE("JSON on a terminal is the same data") {
  CHECK(json_quoted("\xc2\x9b \x7f \xe2\x80\xae caf\xc3\xa9") ==
        "\"\\u009b \\u007f \\u202e caf\xc3\xa9\"");
  CHECK(shown_json("{\n  \"a\": \"\x7f\xe2\x81\xa6\"\n}") == "{\n  \"a\": \"\\u007f\\u2066\"\n}");
  CHECK(shown_json("[\n1\n]") == "[\n1\n]");
  CHECK(shown_json("\xff") == "\xff");
}

TEST_CASE("what a host said is quoted as one line, escaped like all else, and as its end") {
  CHECK(printable(" a\r\n\x1b[1m b \n", 100) == "a \\x1b[1m b");
  CHECK(printable("a \xe2\x80\xae \xff", 100) == "a \\u202e \\xff");
  CHECK(printable("0123456789", 4) == "6789");
  CHECK(printable("ab\xc3\xa4z", 2) == "z");  // no half characters
  CHECK(printable(" \n", 100).empty());
  CHECK(printable(printable("a\x1b", 100), 100) == "a\\x1b");
}
