// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hosts/host_set.hpp"
#include "config_schema/hosts/host_fold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/catch.hpp"

using namespace train;

namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

std::string expanded(const std::string& list) {
  const auto names = expand_host_set(list);
  return names ? joined(*names) : "error: " + names.error().message;
}

std::string spelled(std::mt19937& random, int number, bool is_padded) {
  std::string digits = std::to_string(number);
  const std::size_t width = 1 + random() % 3;
  if (is_padded && digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

// Names of a few shapes whose numbers are close together, so that they fold, in any order.
std::vector<std::string> random_hosts(std::mt19937& random) {
  const std::vector<std::string> texts = {"n", "gpu-", "r", "-ib", ".x", "a.b-"};
  std::vector<std::string> names;
  std::set<std::string> seen;
  const std::size_t count = 1 + random() % 60;
  const bool is_padded = random() % 2 == 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::string name = texts[random() % 3];
    if (random() % 8 > 0) name += spelled(random, static_cast<int>(random() % 20), is_padded);
    if (random() % 3 == 0) {
      name += texts[random() % texts.size()];
      name += spelled(random, static_cast<int>(random() % 4), is_padded);
    }
    if (random() % 5 == 0) name += "-ib";
    if (seen.insert(name).second) names.push_back(name);
  }
  if (random() % 2 == 0) std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("host sets expand as ClusterShell's do") {
  const auto [list, names] = GENERATE(table<std::string, std::string>({
      {"n1", "n1"},
      {"node[01-03,20]", "node01 node02 node03 node20"},
      {"n[9-11]", "n9 n10 n11"},
      {"n[09-11]", "n09 n10 n11"},
      {"n[0-8/2]", "n0 n2 n4 n6 n8"},
      {"n[1-2]-[0-1]", "n1-0 n1-1 n2-0 n2-1"},
      {"n[1-2]r[0-1]-ib", "n1r0-ib n1r1-ib n2r0-ib n2r1-ib"},
      {"10.0.0.[1-3]", "10.0.0.1 10.0.0.2 10.0.0.3"},
      {"n[1-2][3-4]", "n13 n14 n23 n24"},
      {"n[001-003],n1", "n001 n002 n003 n1"},
      {"a, b ,c[1-2]", "a b c1 c2"},
      {"n[5]", "n5"},
      {"n[3,1]", "n3 n1"},
      {"n[1-2]5", "n15 n25"},
      {"[1-2]", "1 2"},
      {"n[0]", "n0"},
      {"n[00-01]", "n00 n01"},
  }));
  CHECK(expanded(list) == names);
}

TEST_CASE("what is no host set is refused, with the place") {
  const auto [list, offset] = GENERATE(table<std::string, std::size_t>({
      {"n[3-1]", 2},
      {"n[]", 2},
      {"n[1-3", 1},
      {"n1]", 2},
      {"a1,,b2", 3},
      {"n[9-011]", 2},
      {"n[01-5]", 2},
      {"n[a]", 2},
      {"n[1,,2]", 4},
      {"n[1-]", 4},
      {"n[-1]", 2},
      {"n[1-2/0]", 2},
      {"n[1/2]", 2},
      {"n[[1]]", 1},
      {"a,", 1},
      {",a", 0},
      {"", 0},
      {"a b", 1},
      {"n[1-2", 1},
      {"a,n[2-1]", 4},
      {"-n", 0},
      {"n@x", 1},
      {"n/1", 1},
      {"n[1;2]", 2},
      {"n[1][2", 4},
      {"n[1234567890123456789]", 2},
      {"caf\xc3\xa9", 3},
  }));
  INFO(list);
  const auto names = expand_host_set(list);
  REQUIRE_FALSE(names);
  CHECK(names.error().offset == offset);
}

TEST_CASE("a set is counted before it is made") {
  CHECK(expand_host_set("n[1-65536]")->size() == 65'536);
  CHECK_FALSE(expand_host_set("n[0-65536]"));
  CHECK_FALSE(expand_host_set("n[0-999999999999999999]"));
  CHECK_FALSE(expand_host_set("n[1-256][1-257]"));
  CHECK(expand_host_set("n[1-256][1-256]")->size() == 65'536);
  CHECK_FALSE(expand_host_set("a,n[1-65536]"));
  CHECK_FALSE(expand_host_set("[1-9][1-9][1-9][1-9][1-9][1-9][1-9][1-9][1-9][1-9][1-9][1-9]"));
}

TEST_CASE("names fold into short sets") {
  const auto [list, folded] = GENERATE(table<std::string, std::string>({
      {"node[01-16]", "node[01-16]"},
      {"n1,n2,n3", "n[1-3]"},
      {"n1,n3,n5", "n[1,3,5]"},
      {"n1,n3,n5,n7", "n[1-7/2]"},
      {"n[0-30/10],n31", "n[0-30/10,31]"},
      {"n[00-98/7]", "n[00-98/7]"},
      {"n3,n2,n1", "n[3,2,1]"},
      {"n9,n10,n11,n012,n13", "n[9-11,012,13]"},
      {"n[1-2]-[0-8/2].lab", "n[1-2]-[0-8/2].lab"},
      {"a[1-2]b[1-2]c[1-2]d[1-2]e[1-2]", "a1b[1-2]c[1-2]d[1-2]e[1-2],a2b[1-2]c[1-2]d[1-2]e[1-2]"},
      {"n1,a,n2", "n1,a,n2"},
      {"n[08-12]", "n[08-12]"},
      {"n[98-101]", "n[98-101]"},
      {"n98,n99,n100", "n[98-100]"},
      {"n08,n09,n10,n99,n100", "n[08-10,99-100]"},
      {"n01,n1", "n[01,1]"},
      {"r[1-2]n[1-3]", "r[1-2]n[1-3]"},
      {"r1n1,r2n2", "r1n1,r2n2"},
      {"10.0.0.[1-9],gpu-b", "10.0.0.[1-9],gpu-b"},
      {"n[1-2]r[0-1]-ib", "n[1-2]r[0-1]-ib"},
  }));
  CHECK(fold_hosts(*expand_host_set(list)) == folded);
}

TEST_CASE("addresses do not fold") {
  CHECK(fold_hosts({"::1", "::2", "n1"}) == "[::1],[::2],n1");
  CHECK(fold_hosts({}).empty());
}

namespace {

void check_that_folding_keeps(const std::vector<std::string>& names) {
  const std::string folded = fold_hosts(names);
  const auto again = expand_host_set(folded);
  INFO(joined(names) << "\nfolded: " << folded);
  REQUIRE(again);
  REQUIRE(*again == names);
}

// "[3-9/2,01]" and the like, ascending or not.
std::string random_bracket(std::mt19937& random) {
  std::string text = "[";
  for (std::size_t left = 1 + random() % 3; left > 0; --left) {
    const int first = static_cast<int>(random() % 12);
    const int last = first + static_cast<int>(random() % 8);
    const std::size_t width = random() % 2 == 0 ? 1 : std::to_string(last).size() + random() % 2;
    text += fmt::format("{0:0{2}}-{1:0{2}}", first, last, width);
    if (random() % 3 == 0) text += fmt::format("/{}", 1 + random() % 4);
    text += left > 1 ? "," : "]";
  }
  return text;
}

}  // namespace

TEST_CASE("expanding what was folded gives the names back, in order") {
  std::mt19937 random(20'240'611);
  for (int i = 0; i < 2000; ++i) check_that_folding_keeps(random_hosts(random));
}

TEST_CASE("sets of several dimensions, paddings, suffixes and steps survive folding") {
  std::mt19937 random(20'261'121);
  const std::vector<std::string> texts = {"n", "", "-", "r", ".lab", "-ib0", "0x"};
  for (int i = 0; i < 2000; ++i) {
    std::string pattern = "h";
    for (std::size_t left = 1 + random() % 3; left > 0; --left) {
      pattern += texts[random() % texts.size()];
      // A digit beside a bracket would be part of its number.
      if (pattern.back() >= '0' && pattern.back() <= '9') pattern += '-';
      pattern += random_bracket(random) + (random() % 2 == 0 ? "x" : "-");
    }
    auto names = expand_host_set(pattern + texts[random() % texts.size()] + "z");
    INFO(pattern);
    REQUIRE(names);
    if (random() % 3 == 0) std::shuffle(names->begin(), names->end(), random);
    check_that_folding_keeps(*names);
  }
}

TEST_CASE("the numbers of very many hosts fold into a set that can be expanded") {
  const auto odd = expand_host_set("n[000000000000000001-000000000000131071/2]");
  REQUIRE(odd);
  CHECK(odd->size() == max_hosts);
  const auto again = expand_host_set(fold_hosts(*odd));
  REQUIRE(again);
  CHECK((*again == *odd));
}

TEST_CASE("numbers without order are folded into brackets that can be read again") {
  std::mt19937 random(7);
  std::vector<std::string> names;
  for (int i = 0; i < 20'000; ++i) names.push_back(fmt::format("node{:06}", i));
  std::shuffle(names.begin(), names.end(), random);
  check_that_folding_keeps(names);
}

TEST_CASE("names for messages are folded, and never long") {
  CHECK(summarize_hosts({"node01", "node02", "node03", "gpu-b"}) == "node[01-03], gpu-b");
  CHECK(summarize_hosts({"n1.lab", "n2.lab", "n4.lab"}) == "n[1-2,4].lab");
  CHECK(summarize_hosts({"n2", "n1"}) == "n[2,1]");
  CHECK(summarize_hosts({"n09", "n10", "n1"}) == "n[09-10,1]");
  CHECK(summarize_hosts({"r1n1", "r1n2", "r2n1", "r2n2"}) == "r[1-2]n[1-2]");
  CHECK(summarize_hosts({"a", "b", "c", "d"}, 2) == "a, b and 2 more");
  CHECK(summarize_hosts({"99999999999999999999", "b"}) == "99999999999999999999, b");
  CHECK(summarize_hosts({}).empty());
  std::vector<std::string> scattered;
  for (int i = 0; i < 1000; ++i) scattered.push_back("n" + std::to_string(i * i));
  const std::string summary = summarize_hosts(scattered);
  CHECK(summary.size() < 300);
  CHECK(summary.ends_with(" and 963 more"));
}

TEST_CASE("a name longer than DNS allows is refused before it is made") {
  const std::string longest(max_host_name, 'n');
  CHECK(expand_host_set(longest)->front() == longest);
  CHECK_FALSE(expand_host_set(longest + "n"));
  CHECK(expand_host_set(std::string(max_host_name - 2, 'n') + "[98-99]"));
  CHECK_FALSE(expand_host_set(std::string(max_host_name - 2, 'n') + "[98-100]"));
  CHECK_FALSE(expand_host_set(std::string(65'000, 'n') + "[1-65536]"));
}
