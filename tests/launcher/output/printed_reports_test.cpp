// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/printed_reports.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

constexpr const char* loss_of_epoch = R"(epoch (?P<epoch>\d+): loss (?P<loss>\S+))";

OutputChunk printed_by(int rank, std::string_view bytes, OutputStream stream = OutputStream::out) {
  OutputChunk chunk;
  chunk.rank = rank;
  chunk.stream = stream;
  chunk.bytes = bytes;
  return chunk;
}

OutputChunk gap(int rank) {
  OutputChunk chunk = printed_by(rank, "");
  chunk.dropped = 7;
  return chunk;
}

using Reports = std::vector<MetricsReport>;

}  // namespace

TEST_CASE("what patterns find in the lines of ranks is reported") {
  PrintedReports reports({loss_of_epoch});
  CHECK(reports.look(printed_by(0, "loading\nepoch 1: loss 0.5\nepoch 2: loss nan\n")) ==
        Reports{{0, R"({"epoch":1,"loss":0.5})"}, {0, R"({"epoch":2,"loss":null})"}});
  CHECK(reports.look(printed_by(3, "epoch 1: loss soon\n", OutputStream::err)) ==
        Reports{{3, R"({"epoch":1,"loss":"soon"})"}});
  CHECK(reports.look(printed_by(0, "epoch 3: loss 1\n", OutputStream::metrics)).empty());
  CHECK(PrintedReports({}).look(printed_by(0, "epoch 3: loss 1\n")).empty());
}

TEST_CASE("all patterns that match a line make one report, the first of a name counts") {
  PrintedReports reports({"acc=(?P<acc>\\S+)", "loss=(?P<loss>\\S+)", "(?P<acc>[0-9]+)%"});
  CHECK(reports.look(printed_by(0, "loss=2 acc=0.5 50%\n50%\n-\n")) ==
        Reports{{0, R"({"acc":0.5,"loss":2})"}, {0, R"({"acc":50})"}});
}

TEST_CASE("a line counts when it has ended, each stream for itself") {
  PrintedReports reports({loss_of_epoch});
  CHECK(reports.look(printed_by(0, "epoch 1: loss 0.")).empty());
  CHECK(reports.look(printed_by(0, "epoch 8: ", OutputStream::err)).empty());
  CHECK(reports.look(printed_by(0, "25")).empty());
  CHECK(reports.look(printed_by(0, "\nepoch 2: loss 1")) ==
        Reports{{0, R"({"epoch":1,"loss":0.25})"}});
  reports.end();
  CHECK(reports.look(printed_by(0, "\nepoch 3: loss 1\n")) ==
        Reports{{0, R"({"epoch":3,"loss":1})"}});
}

TEST_CASE("of a progress bar what stands there at the end counts, however long it was") {
  PrintedReports reports({loss_of_epoch});
  CHECK(reports.look(printed_by(0, "epoch 1: loss 9\repoch 1: loss 8\r")).empty());
  for (int i = 0; i < 2'000; ++i) REQUIRE(reports.look(printed_by(0, "epoch 1: loss 7\r")).empty());
  CHECK(reports.look(printed_by(0, "epoch 1: loss 0.")).empty());
  CHECK(reports.look(printed_by(0, "5\r\n")) == Reports{{0, R"({"epoch":1,"loss":0.5})"}});
  CHECK(reports.look(printed_by(0, "epoch 2: loss 3\r\r\nepoch 3: loss 2\rdone\n")) ==
        Reports{{0, R"({"epoch":2,"loss":3})"}});
}

TEST_CASE("colors and other escape sequences are no part of a line") {
  PrintedReports reports({"^epoch (?P<epoch>\\d+): loss (?P<loss>\\S+)$"});
  CHECK(reports.look(printed_by(0, "\x1b[1;32mepoch \x1b[0m1: loss 0\x1b[m.5\x1b[K\n")) ==
        Reports{{0, R"({"epoch":1,"loss":0.5})"}});
  CHECK(reports.look(printed_by(0, "\x1b]0;title\aepoch 2\x1b(B: \x1b]8;;x\x1b\\loss 1\x1b\n")) ==
        Reports{{0, R"({"epoch":2,"loss":1})"}});
}

TEST_CASE("a line that is too long, or has a gap, has no report, but what overwrites it may") {
  PrintedReports reports({loss_of_epoch});
  CHECK(reports.look(printed_by(0, "epoch 1: loss 2" + std::string(longest_report_line, ' ')))
            .empty());
  CHECK(reports.look(printed_by(0, "epoch 1: loss 3\nepoch 2: loss 4\n")) ==
        Reports{{0, R"({"epoch":2,"loss":4})"}});
  CHECK(reports.look(printed_by(0, "epoch 3: loss 0.")).empty());
  CHECK(reports.look(gap(0)).empty());
  CHECK(reports.look(printed_by(0, "epoch 3: loss 5\nepoch 4: loss 6\n")) ==
        Reports{{0, R"({"epoch":4,"loss":6})"}});
  CHECK(reports.look(gap(0)).empty());
  CHECK(reports.look(printed_by(0, "75\repoch 5: loss 7\n")) ==
        Reports{{0, R"({"epoch":5,"loss":7})"}});
}

TEST_CASE("bytes that are no text do no harm") {
  PrintedReports reports({"loss (?P<loss>.+)"});
  CHECK(reports.look(printed_by(0, "\xff\xfe loss 1\nloss 2\xff\n")) ==
        Reports{{0, R"({"loss":1})"}, {0, R"({"loss":2})"}});
}

TEST_CASE("values are numbers as programs print them, or what a report may have, or text") {
  CHECK(printed_value("12") == "12");
  CHECK(printed_value("007") == "7");
  CHECK(printed_value("-0") == "-0");
  CHECK(printed_value("+1.50") == "1.50");
  CHECK(printed_value(".5") == "0.5");
  CHECK(printed_value("-5.") == "-5.0");
  CHECK(printed_value("1E+05") == "1e05");
  CHECK(printed_value("2.5e-3") == "2.5e-3");
  CHECK(printed_value("NaN") == "NaN");
  CHECK(printed_value("-inf") == "-Infinity");
  CHECK(printed_value("true") == "true");
  for (const char* text : {"", ".", "-", "1e", "1.5%", "1,5", "0x1f", "1 2", "1e999", "relu"})
    CHECK(printed_value(text) == "\"" + std::string(text) + "\"");
}
