// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/line_splitter.hpp"

#include <random>

#include "config_schema/text/terminal_text.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::vector<std::string>& pieces) {
  LineSplitter splitter;
  Lines lines;
  const auto add = [&](std::string_view line) { lines.emplace_back(line); };
  for (const std::string& piece : pieces) splitter.add(piece, add);
  splitter.end(add);
  return lines;
}

// The rule in two steps: what was overwritten goes, and the rest is escaped.
std::string shown(std::string line) {
  while (!line.empty() && line.back() == '\r') line.pop_back();
  line.erase(0, line.rfind('\r') + 1);
  return escaped(line);
}

}  // namespace

TEST_CASE("lines are the same in whatever pieces they come") {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    Lines expected;
    for (int i = 0; i < 20; ++i) {
      const std::size_t size = random() % 10 == 0 ? random() % 70'000 : random() % 40;
      const std::string line(size, static_cast<char>('a' + i));
      text += line + "\n";
      std::size_t begin = 0;
      for (; size - begin > LineSplitter::longest_line; begin += LineSplitter::longest_line)
        expected.push_back(line.substr(begin, LineSplitter::longest_line));
      expected.push_back(line.substr(begin));
    }
    std::vector<std::string> pieces;
    for (std::size_t begin = 0; begin < text.size();) {
      pieces.push_back(text.substr(begin, 1 + random() % (round % 2 ? 7 : 50'000)));
      begin += pieces.back().size();
    }
    REQUIRE(lines_of(pieces) == expected);
  }
}

TEST_CASE("what has no newline is a line at the end") {
  CHECK(lines_of({"a\nb"}) == Lines{"a", "b"});
  CHECK(lines_of({"a", "", "\n", "\n"}) == Lines{"a", ""});
  CHECK(lines_of({""}).empty());
}

TEST_CASE("bytes that steer a terminal are shown, all others pass") {
  CHECK(for_terminal("plain text of more than a block\tand a tab") ==
        "plain text of more than a block\tand a tab");
  CHECK(for_terminal("\x1b[31mred\x1b[0m") == "\\x1b[31mred\\x1b[0m");
  CHECK(for_terminal("10%\r20%\r100%\r\r") == "100%");
  CHECK(for_terminal("caf\xc3\xa9 21\xc2\xb0") == "caf\xc3\xa9 21\xc2\xb0");
  CHECK(for_terminal("\xc2\x9b"
                     "31m") == "\\u009b31m");
  CHECK(for_terminal("\x9b"
                     "31m \xe2\x80\xaegpj.exe") == "\\x9b31m \\u202egpj.exe");
}

TEST_CASE("lines of any bytes are shown by the same rule") {
  std::mt19937 random(6);
  const std::string special("\x1b\x7f\xc2\x9b\xa0\t\r\x1f\x20\x80\xff\0", 12);
  for (int round = 0; round < 20'000; ++round) {
    std::string line(random() % 40, 'x');
    for (char& c : line)
      if (random() % 4 == 0) c = special[random() % special.size()];
    REQUIRE(for_terminal(line) == shown(line));
  }
}

TEST_CASE("the last lines are kept, and not too much of each") {
  Tail tail(2);
  for (const char* line : {"a", "b", "c"}) tail.add(line);
  CHECK(tail.lines() == Lines{"b", "c"});
  tail.add(std::string(600, 'x'));
  CHECK(tail.lines().back() == std::string(500, 'x') + "...");
}
