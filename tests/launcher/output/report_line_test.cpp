// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/report_line.hpp"

#include <fmt/format.h>

#include "launcher/output/metrics_watch.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

std::string line(const std::vector<std::string>& words, std::optional<std::string> step = {}) {
  const auto made = report_line(words, step);
  REQUIRE(made);
  // What is written is read.
  REQUIRE(metrics_of_line(made->substr(0, made->size() - 1)));
  return *made;
}

std::string trouble(const std::vector<std::string>& words, std::optional<std::string> step = {}) {
  const auto made = report_line(words, step);
  REQUIRE_FALSE(made);
  CHECK(made.error().error_class == ErrorClass::usage);
  return made.error().diagnostics.front().message;
}

}  // namespace

TEST_CASE("words become an object of JSON on one line, the step first") {
  CHECK(line({"loss=0.3", "epoch=4"}, "100") == "{\"step\": 100, \"loss\": 0.3, \"epoch\": 4}\n");
  CHECK(line({"a=-1e-5", "b=true", "c=null", "d=relu", "e=", "f=x=y", "g=1.5.2", "h=01"}) ==
        "{\"a\": -1e-5, \"b\": true, \"c\": null, \"d\": \"relu\", \"e\": \"\", \"f\": \"x=y\", "
        "\"g\": \"1.5.2\", \"h\": \"01\"}\n");
  CHECK(line({"a=nan", "b=-inf", "c=Infinity", "d=+NaN"}) ==
        "{\"a\": NaN, \"b\": -Infinity, \"c\": Infinity, \"d\": NaN}\n");
}

TEST_CASE("a number is one of JSON that a double can hold") {
  for (const char* number : {"0", "-0", "12", "1.5", "-0.25e3", "1E+5", "1e-400"})
    CHECK(line({"a=" + std::string(number)}) == fmt::format("{{\"a\": {}}}\n", number));
  for (const char* text :
       {"1e999", "00", "-", ".5", "1.", "1e", "0x10", "1_000", "+1", "1 ", "--1"})
    CHECK(line({"a=" + std::string(text)}) == fmt::format("{{\"a\": \"{}\"}}\n", text));
}

TEST_CASE("whatever stands in a word, it stays one line that is read") {
  CHECK(line({"a=two\nlines \"quoted\" \\ \x01 \xff"}).find('\n') ==
        line({"a=two\nlines \"quoted\" \\ \x01 \xff"}).size() - 1);
  CHECK(line({"na\"me\n=1"}) == "{\"na\\\"me\\n\": 1}\n");
  CHECK(line({"a={\"b\": 1}"}) == "{\"a\": \"{\\\"b\\\": 1}\"}\n");
  CHECK(line({"a= 1 "}) == "{\"a\": \" 1 \"}\n");
}

TEST_CASE("what is no report is refused") {
  CHECK(trouble({}) == "there is nothing to report");
  CHECK(trouble({"loss"}) == "'loss' is no NAME=VALUE");
  CHECK(trouble({"=3"}) == "'=3' is no NAME=VALUE");
  CHECK(trouble({"a=1", "a=2"}) == "'a' is given twice");
  CHECK(trouble({"step=1"}, "2") == "'step' is given twice");
  CHECK(trouble({"a=1"}, "soon") == "--step: 'soon' is no number");
  CHECK(trouble({"a=1"}, "nan") == "--step: 'nan' is no number");
  CHECK(trouble({"a=" + std::string(longest_report_line, 'x')}).find("is longer than 16384") !=
        std::string::npos);
  CHECK(line({"a=" + std::string(longest_report_line - 9, 'x')}).size() == longest_report_line + 1);
}
