// SPDX-License-Identifier: Apache-2.0
#include "backends/log/kept_reports.hpp"

#include "backends/log/attempt_logs.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;

namespace {

LogPiece metrics_of(int rank, int attempt, std::string bytes, std::uint64_t dropped = 0) {
  LogPiece piece;
  piece.rank = rank;
  piece.stream = OutputStream::metrics;
  piece.bytes = std::move(bytes);
  piece.dropped = dropped;
  piece.of = {0, attempt};
  return piece;
}

}  // namespace

TEST_CASE("the reports of a rank are read from its metrics log") {
  const TemporaryDirectory directory;
  AttemptLogs logs(directory.path(), 2, {});
  REQUIRE(logs.create());
  using Reports = std::vector<std::string>;
  CHECK(*kept_reports(directory.path(), {0}, 0) == Reports());
  (void)logs.append(metrics_of(0, 0, "{\"loss\": 1}\nno report\n{\"los"), 0,
                    LogSink::NoRoom::waits);
  (void)logs.append(metrics_of(1, 0, "{\"loss\": 7}\n"), 0, LogSink::NoRoom::waits);
  (void)logs.append(metrics_of(0, 0, "s\": 2}\n{\"torn\""), 0, LogSink::NoRoom::waits);
  CHECK(*kept_reports(directory.path(), {0}, 0) == Reports{"{\"loss\":1}", "{\"loss\":2}"});
  CHECK(*kept_reports(directory.path(), {1}, 0) == Reports{"{\"loss\":7}"});
  CHECK(*kept_reports(directory.path(), {0}, 1) == Reports());
  CHECK(*kept_reports(directory.path() + "/nowhere", {0}, 0) == Reports());
}

TEST_CASE("a report of which a part was dropped is none") {
  const TemporaryDirectory directory;
  AttemptLogs logs(directory.path(), 1, {});
  REQUIRE(logs.create());
  (void)logs.append(metrics_of(0, 0, "{\"a\": 1}\n{\"b\""), 0, LogSink::NoRoom::waits);
  (void)logs.append(metrics_of(0, 0, "", 5), 0, LogSink::NoRoom::waits);
  (void)logs.append(metrics_of(0, 0, ": 2}\n{\"c\": 3}\n"), 0, LogSink::NoRoom::waits);
  CHECK(*kept_reports(directory.path(), {0}, 0) ==
        std::vector<std::string>{"{\"a\":1}", "{\"c\":3}"});
}

TEST_CASE("the reports of several ranks are in the order of their times") {
  const TemporaryDirectory directory;
  AttemptLogs logs(directory.path(), 3, {});
  REQUIRE(logs.create());
  const auto report_at = [&](std::int64_t time_us, int rank, const std::string& name) {
    LogPiece piece = metrics_of(rank, 0, "{\"" + name + "\": 1}\n");
    piece.time_us = time_us;
    (void)logs.append(piece, 0, LogSink::NoRoom::waits);
  };
  report_at(10, 0, "a");
  report_at(30, 0, "c");
  report_at(20, 2, "b");
  report_at(40, 2, "d");
  const std::vector<std::string> in_order = {"{\"a\":1}", "{\"b\":1}", "{\"c\":1}", "{\"d\":1}"};
  CHECK(*kept_reports(directory.path(), {0, 1, 2}, 0) == in_order);
}

TEST_CASE("what patterns find in the output stands between the reports of metrics files") {
  const TemporaryDirectory directory;
  AttemptLogs logs(directory.path(), 1, {});
  REQUIRE(logs.create());
  const auto write_at = [&](std::int64_t time_us, OutputStream stream, const std::string& bytes) {
    LogPiece piece = metrics_of(0, 0, bytes);
    piece.stream = stream;
    piece.time_us = time_us;
    (void)logs.append(piece, 0, LogSink::NoRoom::waits);
  };
  write_at(10, OutputStream::out, "loss 1\nloss 0.");
  write_at(20, OutputStream::metrics, "{\"loss\": 2}\n");
  write_at(30, OutputStream::err, "loss 3\n");
  write_at(40, OutputStream::out, "5\nloss 7");
  CHECK(*kept_reports(directory.path(), {0}, 0, {"loss (?P<loss>[0-9.]+)"}) ==
        std::vector<std::string>{"{\"loss\":1}", "{\"loss\":2}", "{\"loss\":3}", "{\"loss\":0.5}"});
  CHECK(*kept_reports(directory.path(), {0}, 0) == std::vector<std::string>{"{\"loss\":2}"});
}
