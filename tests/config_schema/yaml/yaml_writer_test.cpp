// SPDX-License-Identifier: Apache-2.0
#include "config_schema/yaml/yaml_writer.hpp"

#include <random>

#include "config_schema/yaml/yaml_document.hpp"
#include "tests/catch.hpp"
#include "tests/config_schema/reading.hpp"

using namespace train;
using namespace train::testing;

namespace {

std::string rewritten(const std::string& text) {
  return yaml_text(*read_tree(text), YamlComments::none);
}

YamlNodePtr random_node(std::mt19937& random, int depth) {
  const std::vector<std::string> strings = {
      "",   " ",   "a",  "yes", "012",  "1e3",  "0x1F", "- a", "a: b",       "a #b", "#",
      "'",  "\"",  "\\", "~",   "null", "true", "[",    "{a}", "a\nb",       "\t",   "é",
      "&a", "*a",  "!t", "%",   "@",    "`",    "...",  "---", "2020-01-01", "1:30", ".inf",
      "<<", "a,b", "a ", " a",  "?",    "|",    ">",    "a:b", "x=y"};
  auto node = std::make_shared<YamlNode>();
  const auto choice = random() % (depth > 0 ? 6 : 4);
  if (choice < 2) {
    node->kind = YamlKind::string;
    node->text = strings[random() % strings.size()];
  } else if (choice < 4) {
    const std::vector<std::string> plain = {"1", "-3.5", "true", "null", "0x10", ".inf", "1e3"};
    *node = resolve_plain_scalar(plain[random() % plain.size()]);
  } else if (choice == 4) {
    node->kind = YamlKind::sequence;
    for (auto count = random() % 4; count > 0; --count)
      node->items.push_back(random_node(random, depth - 1));
  } else {
    node->kind = YamlKind::mapping;
    for (auto count = random() % 4; count > 0; --count) {
      const std::string key = strings[random() % strings.size()] + std::to_string(count);
      node->entries.push_back({key, {}, random_node(random, depth - 1)});
    }
  }
  return node;
}

std::string json_of(const std::string& yaml) { return json_text(*read_tree(yaml)); }

}  // namespace

TEST_CASE("YAML is written in block style") {
  CHECK(rewritten("{a: 1, b: {c: [x, 'y z', \"yes\"], d: {}}, e: []}") ==
        "a: 1\nb:\n  c: [x, y z, \"yes\"]\n  d: {}\ne: []\n");
  CHECK(rewritten("- {a: 1, b: [{c: 2}]}\n- [[1], 2]\n- x\n") ==
        "- a: 1\n  b:\n    - c: 2\n- - [1]\n  - 2\n- x\n");
  CHECK(rewritten("a: 10s\nb: '10'\nc: node01\nd: 12:30\n") ==
        "a: 10s\nb: \"10\"\nc: node01\nd: \"12:30\"\n");
}

TEST_CASE("any tree reads back to the same values") {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const YamlNodePtr node = random_node(random, 4);
    const std::string text = yaml_text(*node, YamlComments::none);
    INFO(text);
    CHECK(json_text(*read_tree(text)) == json_text(*node));
  }
}

TEST_CASE("YAML values become JSON of the same type") {
  const auto [yaml, json] = GENERATE(table<std::string, std::string>({
      {"3", "3"},
      {"+012", "12"},
      {"-0", "0"},
      {"0x1F", "31"},
      {"0o14", "12"},
      {"12345678901234567890123", "12345678901234567890123"},
      {"-00012345678901234567890123", "-12345678901234567890123"},
      {"32.0", "32.0"},
      {"1e3", "1000.0"},
      {"1e-3", "0.001"},
      {"0.1", "0.1"},
      {"1e22", "1e+22"},
      {"true", "true"},
      {"~", "null"},
      {"yes", "\"yes\""},
      {"'3'", "\"3\""},
      {"[1, [a], {}]", "[1, [\"a\"], {}]"},
      {"{b: 1, a: {x: null}}", "{\"b\": 1, \"a\": {\"x\": null}}"},
      {"{1: x, true: y}", "{\"1\": \"x\", \"true\": \"y\"}"},
  }));
  CHECK(json_of(yaml) == json);
}

TEST_CASE("strings are escaped, and stay on one line") {
  CHECK(json_of("\"a\\\"b\\\\c\\n\\t\\x01\"") == "\"a\\\"b\\\\c\\n\\t\\u0001\"");
  CHECK(json_of("caf\xc3\xa9") == "\"caf\xc3\xa9\"");
  CHECK(json_of("|\n  a\n  b\n") == "\"a\\nb\\n\"");
}
