// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/error.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("a diagnostic shows its line with a caret") {
  const Diagnostic found{{"hosts", 3, 9, "- name: x"}, {}, "no such host", "did you mean 'y'?"};
  CHECK(render(found) ==
        "hosts:3:9: no such host\n  3 | - name: x\n    |         ^\n  did you mean 'y'?");
}

TEST_CASE("carets count characters and keep tabs") {
  CHECK(render(Diagnostic{{"f", 1, 4, "\xc3\xa9: x"}, {}, "m", {}}) ==
        "f:1:4: m\n  1 | \xc3\xa9: x\n    |    ^");
  CHECK(render(Diagnostic{{"f", 1, 2, "\tx"}, {}, "m", {}}) == "f:1:2: m\n  1 | \tx\n    | \t^");
}

TEST_CASE("a flag has no line number") {
  CHECK(render(Diagnostic{{"--set", 1, 3, "a=b"}, {}, "m", {}}) == "--set: m\n  | a=b\n  |   ^");
}

TEST_CASE("of a long line only the neighbourhood is shown") {
  const std::string line = std::string(300, 'a') + "X" + std::string(300, 'b');
  const std::string text = render(Diagnostic{{"f", 7, 301, line}, {}, "m", {}});
  CHECK(text == "f:7:301: m\n  7 | ..." + std::string(60, 'a') + "X" + std::string(39, 'b') +
                    "...\n    | " + std::string(63, ' ') + "^");
}

TEST_CASE("what is left out is counted") {
  const Error error{ErrorClass::config, std::vector<Diagnostic>(3, Diagnostic{{}, {}, "m", {}})};
  CHECK(render(error, 2) == "m\nm\n... and 1 more");
}

TEST_CASE("what is quoted steers no terminal") {
  CHECK(render(Diagnostic{{"f", 1, 3, "a\x1b[31m\nb"}, {}, "'\x1b[31m\r\x7f'", "\xc2\x9b \n\tb"}) ==
        "f:1:3: '\\x1b[31m\\x0d\\x7f'\n  1 | a?[31m?b\n    |   ^\n  \\u009b \\x0a\tb");
  CHECK(render(Diagnostic{{"a\x1b\nb", 1, 0, {}}, {}, "\x9b \xe2\x80\xae", {}}) ==
        "a\\x1b\\x0ab:1: \\x9b \\u202e");
}

TEST_CASE("what is quoted makes no lines, and hints of several lines are a list") {
  const Error error = make_error(ErrorClass::host, "'\ntrain: all is well'", "first\nno second");
  CHECK(render(error) == "'\\x0atrain: all is well'\n  first\\x0ano second");
  CHECK(render(with_hints(error, {"first", "second", "third"})) ==
        "'\\x0atrain: all is well'\n  first\n  second\n  third");
  CHECK(render(with_hints(error, {})) == "'\\x0atrain: all is well'");
  CHECK(in_one_line(with_hints(make_error(ErrorClass::host, "what"), {"do a", "do b"})) ==
        "what; do a; do b");
}

TEST_CASE("of a very long message the begin and the end are shown") {
  const std::string text = render(Diagnostic{{}, {}, "'" + std::string(1 << 20, 'a') + "' ?", {}});
  CHECK(text.size() < 3100);
  CHECK(text.substr(0, 3) == "'aa");
  CHECK(text.substr(text.size() - 5) == "aa' ?");
  // Characters stay whole.
  std::string umlauts = "x";
  for (int i = 0; i < 5000; ++i) umlauts += "\xc3\xa4";
  const std::string cut = render(Diagnostic{{}, {}, umlauts, {}});
  const std::size_t dots = cut.find(" ... ");
  REQUIRE(dots != cut.npos);
  CHECK(cut[dots - 1] == '\xa4');
  CHECK(cut[dots + 5] == '\xc3');
}
