// SPDX-License-Identifier: Apache-2.0
#include "config_schema/json_text.hpp"

#include "config_schema/yaml_document.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

std::string json_of(const std::string& yaml) {
  const auto node = read_yaml({"x", yaml}, ErrorClass::config);
  REQUIRE(node);
  return json_text(**node);
}

}  // namespace

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

TEST_CASE("JSON on a terminal is the same data") {
  CHECK(json_quoted("\xc2\x9b \x7f \xe2\x80\xae caf\xc3\xa9") ==
        "\"\\u009b \\u007f \\u202e caf\xc3\xa9\"");
  CHECK(shown_json("{\n  \"a\": \"\x7f\xe2\x81\xa6\"\n}") == "{\n  \"a\": \"\\u007f\\u2066\"\n}");
  CHECK(shown_json("[\n1\n]") == "[\n1\n]");
  CHECK(shown_json("\xff") == "\xff");
}
