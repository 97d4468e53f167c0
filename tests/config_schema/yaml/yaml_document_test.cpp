// SPDX-License-Identifier: Apache-2.0
#include "config_schema/yaml/yaml_document.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/config_schema/reading.hpp"

using namespace train;
using namespace train::testing;

namespace {

std::string trouble(const std::string& text) {
  const auto root = read_yaml({"x.yaml", text}, ErrorClass::config);
  return root ? std::string("accepted") : render(root.error());
}

}  // namespace

TEST_CASE("scalars follow YAML 1.2's core schema") {
  const auto [text, kind] = GENERATE(table<std::string, YamlKind>({
      {"", YamlKind::null},           {"~", YamlKind::null},
      {"null", YamlKind::null},       {"NULL", YamlKind::null},
      {"nULL", YamlKind::string},     {"true", YamlKind::boolean},
      {"False", YamlKind::boolean},   {"yes", YamlKind::string},
      {"on", YamlKind::string},       {"y", YamlKind::string},
      {"012", YamlKind::integer},     {"-5", YamlKind::integer},
      {"+5", YamlKind::integer},      {"0x1f", YamlKind::integer},
      {"0o17", YamlKind::integer},    {"0b11", YamlKind::string},
      {"0o8", YamlKind::string},      {"-0x1f", YamlKind::string},
      {"1_000", YamlKind::string},    {"1e3", YamlKind::real},
      {".5", YamlKind::real},         {"5.", YamlKind::real},
      {"-.5e-3", YamlKind::real},     {".", YamlKind::string},
      {"e3", YamlKind::string},       {"1e", YamlKind::string},
      {".inf", YamlKind::real},       {"-.INF", YamlKind::real},
      {".nan", YamlKind::real},       {"nan", YamlKind::string},
      {"inf", YamlKind::string},      {"-.nan", YamlKind::string},
      {"12:30:00", YamlKind::string}, {"2001-12-14", YamlKind::string},
      {"1,000", YamlKind::string},    {"-", YamlKind::string},
  }));
  INFO(text);
  CHECK(resolve_plain_scalar(text).kind == kind);
}

TEST_CASE("numbers have the value that they show") {
  CHECK(resolve_plain_scalar("012").integer == 12);
  CHECK(resolve_plain_scalar("0xC").integer == 12);
  CHECK(resolve_plain_scalar("0o14").integer == 12);
  CHECK(resolve_plain_scalar("-9223372036854775808").integer == INT64_MIN);
  CHECK_FALSE(resolve_plain_scalar("9223372036854775808").integer);
  CHECK(resolve_plain_scalar("1e3").real == 1000);
  CHECK(std::isinf(resolve_plain_scalar("1e999").real));
  CHECK(resolve_plain_scalar("1e-999").real == 0);
  CHECK(resolve_plain_scalar("-.inf").real < 0);
}

TEST_CASE("quoted scalars are strings") {
  const auto root = read_tree("{a: '1', b: \"true\", c: !!str 5, d: ''}");
  for (const YamlEntry& entry : root->entries) CHECK(entry.value->kind == YamlKind::string);
}

TEST_CASE("keys and values know their line and column") {
  const auto root = read_tree("# first\na: 1\nb:\n  - x\n  - caf\xc3\xa9: [7]\n");
  const YamlEntry& b = root->entries[1];
  CHECK(b.mark.line == 3);
  CHECK(b.mark.column == 1);
  const YamlEntry& inner = b.value->items[1]->entries[0];
  CHECK(inner.mark.line == 5);
  CHECK(inner.mark.column == 5);
  CHECK(inner.value->mark.column == 11);
  CHECK(place_of(inner.mark).text == "  - caf\xc3\xa9: [7]");
}

TEST_CASE("files from other systems keep their lines") {
  const auto root = read_tree(
      "\xef\xbb\xbf"
      "a: 1\r\nb: x\r\n");
  CHECK(root->find("a")->mark.column == 1);
  CHECK(root->find("b")->mark.line == 2);
  CHECK(root->find("b")->value->text == "x");
}

TEST_CASE("merge keys fill in what a mapping does not say") {
  const auto root = read_tree(
      "base: &base {a: 1, b: 2}\nmore: &more {b: 3, c: 4}\n"
      "both: {<<: [*base, *more], a: 9}\nquoted: {'<<': 1}\n");
  const YamlNode& both = *root->find("both")->value;
  CHECK(both.find("a")->value->text == "9");
  CHECK(both.find("b")->value->text == "2");
  CHECK(both.find("c")->value->text == "4");
  CHECK(both.entries.size() == 3);
  CHECK(root->find("quoted")->value->find("<<"));
}

TEST_CASE("an empty text is null") {
  CHECK(read_tree("")->is_null());
  CHECK(read_tree("# only a comment\n")->is_null());
}

TEST_CASE("an alias stands for its value, places included") {
  const auto root = read_tree("a: &x {k: 1}\nb: *x\n");
  CHECK(root->find("b")->value == root->find("a")->value);
  CHECK(root->size == 5);
}

TEST_CASE("long text counts as several values, so that aliases of it stay bounded") {
  const std::string text(1600, 'x');
  CHECK(read_tree("a: " + text)->size == 102);
  CHECK(read_tree(text.substr(0, 800) + ": 1")->size == 52);
  std::string bomb = "[&a " + text;
  for (int i = 0; i < 10'000; ++i) bomb += ", *a";
  CHECK(trouble(bomb + "]").find("expands to more than") != std::string::npos);
}

TEST_CASE("brackets without end are refused before the parser keeps them") {
  const std::string many(11'000, '[');
  CHECK(trouble("a:\n  " + many).find("x.yaml:2:10003: nested deeper than 64 levels") == 0);
  CHECK(trouble("a: {b: " + many).find("x.yaml:1:") == 0);
  CHECK(trouble("a: '" + many.substr(0, 9'000) + "'  # " + many.substr(0, 900)) == "accepted");
}

TEST_CASE("a broken text says where") {
  CHECK(trouble("a: 1\na: 2\n").find("x.yaml:2:1: key 'a' is given twice; first on line 1") == 0);
  CHECK(trouble("a: [1\n").find("x.yaml:2") == 0);
  CHECK(trouble("a: {b: 1}}\n").find("x.yaml:1") == 0);
  CHECK(trouble("a:\n\tb: 1\n").find("x.yaml:2:1: a tab in the indentation") == 0);
  CHECK(trouble("a:\n  b: 1\n\tc: 2\n").find("x.yaml:3:1: a tab in the indentation") == 0);
  CHECK(trouble("[a]: 1\n").find("a key must be a single word") != std::string::npos);
  CHECK(trouble("a: *b\n").find("x.yaml:1:4") == 0);
  CHECK(trouble("a: 1\n...\n---\nb: 2\n").find("a second document") != std::string::npos);
  CHECK(trouble("a: 1\n...\n# the end\n") == "accepted");
  CHECK(trouble("a: !!int x\n").find("x.yaml:1:4: the tag") == 0);
  CHECK(trouble("a: !!set {x, y}\n").find("has no meaning here") != std::string::npos);
}

TEST_CASE("all duplicate keys of a file are told") {
  const auto root = read_yaml({"x", "a: 1\na: 2\nb: {c: 1, c: 2}\n"}, ErrorClass::hosts);
  REQUIRE_FALSE(root);
  CHECK(root.error().error_class == ErrorClass::hosts);
  CHECK(root.error().diagnostics.size() == 2);
}

TEST_CASE("depth, size and expansion are bounded") {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  CHECK(trouble(nested(64)) == "accepted");
  CHECK(trouble(nested(65)).find("nested deeper than 64 levels") != std::string::npos);
  CHECK(trouble(std::string(5000, '[')).find("nested deeper than 64 levels") != std::string::npos);
  CHECK(trouble(nested(5000)).find("nested deeper than 64 levels") != std::string::npos);
  CHECK(trouble(std::string(max_yaml_bytes + 1, '#')).find("bytes are more than") !=
        std::string::npos);
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before +
            "]\n";
  }
  CHECK(trouble(bomb).find("expands to more than 1000000 values") != std::string::npos);
}

TEST_CASE("a file of one long line is read in linear time and keeps its columns") {
  std::string text = "[";
  for (int i = 0; i < 200'000; ++i) text += "\xc3\xa9,";
  const auto root = read_tree(text + "x]");
  CHECK(root->items.size() == 200'001);
  CHECK(root->items.back()->mark.column == 400'002);
  CHECK(place_of(root->items.back()->mark).text.empty());
}

TEST_CASE("a scalar must end with the quote that it began with") {
  CHECK(trouble("a: \"x\n").find("x.yaml:1:4: the quote is not closed") == 0);
  CHECK(trouble("a: 'it''s\nb: 1\n").find("x.yaml:1:4: the quote is not closed") == 0);
  CHECK(trouble("a: !!str \"x\n").find("the quote is not closed") != std::string::npos);
  CHECK(trouble("a: 'it''s'\n") == "accepted");
  CHECK(trouble("a: \"x \\\" y\"\n") == "accepted");
  CHECK(trouble("a: !!str \"x\"\nb: |\n  \"\n") == "accepted");
  CHECK(trouble("a: 5'\" tall\n") == "accepted");
}
