// SPDX-License-Identifier: Apache-2.0
// By gitignore(5), and as `git check-ignore` (2.39) answers.
#include "launcher/context/ignore_rules.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

// What a walk finds out: whether the path or any folder above it is ignored. A folder's path ends
// in '/'.
bool is_left_out(const IgnoreRules& rules, std::string path) {
  const bool is_folder = path.back() == '/';
  if (is_folder) path.pop_back();
  for (std::size_t slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1))
    if (rules.ignores(path.substr(0, slash), true)) return true;
  return rules.ignores(path, is_folder);
}

struct Case {
  const char* rules;
  std::vector<const char*> ignored;
  std::vector<const char*> kept;
};

const std::vector<Case> table = {
    {"data", {"data", "data/", "a/data", "data/x"}, {"data2", "mydata", "Data"}},
    {"data/", {"data/", "a/b/data/", "data/x"}, {"data", "a/data"}},
    {"/data", {"data", "data/x"}, {"a/data", "a/data/x"}},
    {"/data/", {"data/", "data/x"}, {"data", "a/data/"}},
    {"a/data", {"a/data", "a/data/x"}, {"b/a/data", "data"}},
    {"*.log", {"x.log", "a/x.log", ".log", "a.log/"}, {"x.log2", "log"}},
    {"a/*.log", {"a/x.log"}, {"a/b/x.log", "x.log", "b/a/x.log"}},
    {"a/*", {"a/x", "a/b/", "a/b/x"}, {"a/", "b/x"}},
    {"?.py", {"a.py", "b/c.py"}, {"ab.py", ".py"}},
    {"a?b",
     {"axb",
      "a\xc3"
      "b"},
     {"a/b", "ab"}},
    {"[a-c].py", {"a.py", "c.py"}, {"d.py", "B.py"}},
    {"[!a-c].py", {"d.py", "-.py"}, {"a.py"}},
    {"[^a-c].py", {"d.py"}, {"b.py"}},
    {"[]x]", {"]", "x"}, {"[", "[]x]"}},
    {"[!]]", {"a"}, {"]"}},
    {"[a-]", {"a", "-"}, {"b"}},
    {"[\\]a]", {"]", "a"}, {"\\"}},
    {"[[:digit:]_]x", {"7x", "_x"}, {"ax"}},
    {"[[:upper:][:digit:]]", {"A", "7"}, {"a"}},
    {"[[:nope:]]x", {}, {"nx", ":x"}},
    {"x[", {}, {"x[", "x"}},
    {"x[a", {}, {"x[a", "xa"}},
    {"a[/]b", {}, {"a/b"}},
    {"x\\", {}, {"x\\", "x"}},
    {"**", {"a", "a/b"}, {}},
    {"**/cache", {"cache", "a/cache", "a/b/cache", "cache/x"}, {"mycache"}},
    {"**/a/b", {"a/b", "x/a/b", "x/y/a/b"}, {"ab", "xa/b"}},
    {"a/**", {"a/x", "a/b/", "a/b/c"}, {"a/", "b/a/x"}},
    {"a/**/b", {"a/b", "a/x/b", "a/x/y/b"}, {"ab", "a/xb", "x/a/b"}},
    {"a**b", {"ab", "axxb"}, {"a/b"}},
    {"a/**b", {"a/b", "a/xb"}, {"a/x/b"}},
    {"a/***/b", {"a/b", "a/x/y/b"}, {"ab"}},
    {"*", {"a", ".a", "a/b"}, {}},
    {"*a*a*a*", {"aaa", "xaxaxax"}, {"aa", "a/aa"}},
    {"# comment", {}, {"# comment", "comment"}},
    {"\\#x", {"#x"}, {"x"}},
    {"\\!x", {"!x"}, {"x"}},
    {"x  ", {"x"}, {"x  "}},
    {"x\\ ", {"x "}, {"x"}},
    {"x\\  ", {"x "}, {"x", "x  "}},
    {" x", {" x"}, {"x"}},
    {"x\r\ny\r\n", {"x", "y"}, {"x\r"}},
    {"\xef\xbb\xbfx", {"x"}, {}},
    {"\n\n/\n//\n", {}, {"a", "a/b"}},
    {"*.py\n!keep.py", {"x.py", "a/y.py"}, {"keep.py", "a/keep.py"}},
    {"!keep.py\n*.py", {"keep.py"}, {}},
    {"data\n!data/keep", {"data/keep", "data/x"}, {}},
    {"data/*\n!data/keep", {"data/x"}, {"data/keep", "data/"}},
    {"/*\n!/src/", {"a", "b/"}, {"src/", "src/x"}},
    {"a\\*b", {"a*b"}, {"axb"}},
    {"a\nb/\n", {"a", "b/"}, {"b"}},
};

}  // namespace

TEST_CASE("an ignore file means what it means to git") {
  for (const Case& tried : table) {
    IgnoreRules rules;
    rules.shrink(0);
    CHECK(rules.add(tried.rules, ""));
    for (const char* path : tried.ignored) {
      INFO("rules: " << tried.rules << "; path: " << path);
      CHECK(is_left_out(rules, path));
    }
    for (const char* path : tried.kept) {
      INFO("rules: " << tried.rules << "; path: " << path);
      CHECK_FALSE(is_left_out(rules, path));
    }
  }
}

TEST_CASE("byte-compiled Python, git and editors stay at home unless they are asked for") {
  IgnoreRules rules;
  for (const char* path :
       {"__pycache__/", "a/__pycache__/", "x.pyc", "x.pyo", "X$py.class", ".git/", ".git",
        "sub/.git", ".idea/", ".vscode/", ".mypy_cache/", ".detignore"})
    CHECK(is_left_out(rules, path));
  for (const char* path : {"__pycache__", "x.py", ".gitignore", ".github/", "terraform/", ".env"})
    CHECK_FALSE(is_left_out(rules, path));
  rules.add("!*.pyc\n", "");
  CHECK_FALSE(is_left_out(rules, "x.pyc"));
}

TEST_CASE("rules of a folder hold in that folder, over those above it") {
  IgnoreRules rules;
  rules.add("*.txt\n", "");
  rules.add("!*.txt\n/own\n", "a/b");
  CHECK(is_left_out(rules, "x.txt"));
  CHECK(is_left_out(rules, "a/x.txt"));
  CHECK_FALSE(is_left_out(rules, "a/b/x.txt"));
  CHECK_FALSE(is_left_out(rules, "a/b/c/x.txt"));
  CHECK(is_left_out(rules, "a/bc/x.txt"));
  CHECK(is_left_out(rules, "a/b/own"));
  CHECK_FALSE(is_left_out(rules, "own"));
  CHECK_FALSE(is_left_out(rules, "a/b/c/own"));
}

TEST_CASE("rules of a folder that was left are forgotten") {
  IgnoreRules rules;
  const std::size_t before = rules.size();
  rules.add("x\n", "a");
  rules.shrink(before);
  CHECK_FALSE(is_left_out(rules, "a/x"));
}

TEST_CASE("an ignore file without end is cut off") {
  IgnoreRules rules;
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "a\n";
  CHECK_FALSE(rules.add(text, ""));
}

TEST_CASE("a pattern full of stars takes no longer than its length for each byte") {
  const auto pattern = IgnorePattern::parse(std::string(2'000, '*') + "a*a*a*a*a*a*a*a*a*a*a*b");
  REQUIRE(pattern);
  CHECK_FALSE(pattern->matches(std::string(200, 'a'), false));
  CHECK(pattern->matches(std::string(200, 'a') + "b", false));
}

TEST_CASE("rules that count last do so whatever is added later, and stay when others go") {
  IgnoreRules rules;
  CHECK(rules.add_last("!kept\nmine\n"));
  const std::size_t before = rules.size();
  CHECK(rules.add("kept\n!mine\nother\n", "sub"));
  CHECK_FALSE(rules.ignores("sub/kept", false));
  CHECK(rules.ignores("sub/mine", false));
  CHECK(rules.ignores("sub/other", false));
  rules.shrink(before);
  CHECK(rules.ignores("mine", false));
  CHECK_FALSE(rules.ignores("sub/other", false));
}
