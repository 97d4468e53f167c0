// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/metrics_watch.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

OutputChunk metrics(int rank, std::string bytes) {
  OutputChunk chunk;
  chunk.rank = rank;
  chunk.stream = OutputStream::metrics;
  chunk.bytes = std::move(bytes);
  return chunk;
}

using Reports = std::vector<MetricsReport>;

}  // namespace

TEST_CASE("a report is a line that is an object") {
  MetricsWatch watch;
  CHECK(watch.look(metrics(0, "{\"loss\": 0.5}\n{\"loss\": 0.25, \"step\": 2}\n")) ==
        Reports{{0, R"({"loss":0.5})"}, {0, R"({"loss":0.25,"step":2})"}});
  CHECK(watch.look(metrics(0, "\n\n")).empty());
  CHECK(watch.ignored() == 0);
  for (const char* line : {"1", "[1]", "null", "\"text\"", "loss=1", "{", "{} {}", "{\"a\":}", " "})
    CHECK(watch.look(metrics(0, line + std::string("\n"))).empty());
  CHECK(watch.ignored() == 9);
}

TEST_CASE("however a report is torn on its way, it is whole") {
  const std::string text = "{\"a\": 1}\n{\"b\": [1, 2]}\n";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    MetricsWatch watch;
    auto reports = watch.look(metrics(3, text.substr(0, cut)));
    for (auto& more : watch.look(metrics(3, text.substr(cut)))) reports.push_back(more);
    CHECK(reports == Reports{{3, R"({"a":1})"}, {3, R"({"b":[1,2]})"}});
    CHECK(watch.ignored() == 0);
  }
}

TEST_CASE("ranks do not get into each other's lines, nor does what they print") {
  MetricsWatch watch;
  CHECK(watch.look(metrics(0, "{\"a\":")).empty());
  CHECK(watch.look(metrics(1, "{\"b\":")).empty());
  OutputChunk printed = metrics(0, "{\"c\": 3}\n");
  printed.stream = OutputStream::out;
  CHECK(watch.look(printed).empty());
  CHECK(watch.look(metrics(1, "1}\n")) == Reports{{1, R"({"b":1})"}});
  CHECK(watch.look(metrics(0, "2}\n")) == Reports{{0, R"({"a":2})"}});
}

TEST_CASE("what Python writes for numbers that are none is read") {
  CHECK(metrics_of_line("{\"a\": NaN, \"b\": Infinity, \"c\": -Infinity, \"d\": -1}") ==
        R"({"a":null,"b":"Infinity","c":"-Infinity","d":-1})");
  CHECK(metrics_of_line(R"({"NaN": "Infinity \" NaN", "x": [NaN]})") ==
        R"({"NaN":"Infinity \" NaN","x":[null]})");
  CHECK_FALSE(metrics_of_line("NaN"));
  CHECK_FALSE(metrics_of_line("{\"a\": NaNa}"));
}

TEST_CASE("lines that are too long or too deep are none, and those after them are") {
  MetricsWatch watch;
  const std::string huge = "{\"a\": \"" + std::string(20'000, 'x') + "\"}\n";
  for (const std::size_t piece : {std::size_t{1'000}, huge.size()}) {
    for (std::size_t at = 0; at < huge.size(); at += piece)
      CHECK(watch.look(metrics(0, huge.substr(at, piece))).empty());
  }
  CHECK(watch.look(metrics(0, "{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}\n"))
            .empty());
  CHECK(watch.ignored() == 3);
  CHECK(watch.look(metrics(0, "{}\n")) == Reports{{0, "{}"}});
}

TEST_CASE("a line with a gap in it is none") {
  MetricsWatch watch;
  CHECK(watch.look(metrics(0, "{\"a\"")).empty());
  OutputChunk gap = metrics(0, "");
  gap.dropped = 5;
  CHECK(watch.look(gap).empty());
  CHECK(watch.look(metrics(0, ":1}\n{}\n")) == Reports{{0, "{}"}});
  CHECK(watch.ignored() == 1);
}

TEST_CASE("what a rank had not finished is none, and the next attempt begins anew") {
  MetricsWatch watch;
  CHECK(watch.look(metrics(0, "{\"a\": 1}")).empty());
  watch.end();
  CHECK(watch.ignored() == 1);
  CHECK(watch.look(metrics(0, "{\"b\": 1}\n")).size() == 1);
}
