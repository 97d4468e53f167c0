// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/shell_words.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("a word is quoted where a shell would change it") {
  CHECK(shell_quoted("--lr=0.1") == "--lr=0.1");
  CHECK(shell_quoted("") == "''");
  CHECK(shell_quoted("two words") == "'two words'");
  CHECK(shell_quoted("$HOME") == "'$HOME'");
  CHECK(shell_quoted("it's") == R"('it'\''s')");
}

TEST_CASE("a line that is shown is read by a shell as the same words") {
  const std::vector<std::string> words = {"python3", "train it.py", "", "a'b", "c;d\n#e", "--"};
  const auto commands = shell_commands(shell_line(words));
  REQUIRE(commands.size() == 1);
  std::vector<std::string> read;
  for (const ShellWord& word : commands.front()) read.push_back(word.text);
  CHECK(read == words);
  CHECK(shell_line({}).empty());
}
