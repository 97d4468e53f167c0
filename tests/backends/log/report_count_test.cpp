// SPDX-License-Identifier: Apache-2.0
#include "backends/log/report_count.hpp"

#include <filesystem>
#include <fstream>

#include "backends/log/attempt_logs.hpp"
#include "launcher/output/log_budget.hpp"
#include "launcher/record/task_record.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;

namespace {

struct Reported {
  explicit Reported(std::optional<std::uint64_t> limit = {}) : logs(directory.path(), 2, limit) {
    REQUIRE(logs.create());
  }
  void add(int rank, const std::string& bytes, std::uint64_t dropped = 0) {
    REQUIRE(logs.append({rank, OutputStream::metrics, 0, bytes, dropped}, 0, LogSink::NoRoom::waits)
                .trouble.empty());
  }
  Result<ReportCount> count(const std::vector<std::uint64_t>& ends) const {
    return count_reports(directory.path(), 0, {ends}, {}, is_unwanted);
  }

  TemporaryDirectory directory;
  AttemptLogs logs;
  std::atomic<bool> is_unwanted{false};
};

}  // namespace

TEST_CASE("the reports of all ranks are counted, and the last of rank 0 is told") {
  Reported reported;
  reported.add(1, "{\"a\": 1}\n{\"a\": 2}\n");
  reported.add(0, "{\"b\": 1}\njunk\n{\"b\"");
  reported.add(0, ": NaN}\n{\"torn\"");
  const auto count = reported.count({32, 18});
  REQUIRE(count);
  CHECK(count->reports == 4);
  CHECK(count->ignored == 1);
  CHECK(count->last_report == R"({"b":null})");
  CHECK(count->is_whole);
}

TEST_CASE("what was written behind the end does not count, and ranks without reports have no log") {
  Reported reported;
  reported.add(0, "{\"a\": 1}\n");
  reported.add(0, "{\"a\": 2}\n");
  const auto count = reported.count({9, 0});
  REQUIRE(count);
  CHECK(count->reports == 1);
  CHECK(count->last_report == R"({"a":1})");
  CHECK(reported.count({0, 0})->reports == 0);
}

TEST_CASE("a line with a gap is one that is ignored") {
  Reported reported;
  reported.add(0, "{}\n{\"a\"");
  reported.add(0, {}, 5);
  reported.add(0, ": 1}\n{}\n");
  const auto count = reported.count({23, 0});
  REQUIRE(count);
  CHECK(count->reports == 2);
  CHECK(count->ignored == 1);
  CHECK(count->is_whole);
}

TEST_CASE("where the oldest reports had to go, that is told") {
  Reported reported(least_log_limit);
  std::uint64_t size = 0;
  const std::string piece(64u << 10, '\n');
  for (; size <= least_log_limit; size += piece.size()) reported.add(0, piece);
  reported.add(0, "{}\n");
  REQUIRE_FALSE(std::filesystem::exists(metrics_log_file(reported.directory.path(), 0)));
  const auto count = reported.count({size + 3, 0});
  REQUIRE(count);
  CHECK(count->reports == 1);
  CHECK_FALSE(count->is_whole);
}

TEST_CASE("a count that nobody wants any more stops, and a damaged log is an error") {
  Reported reported;
  reported.add(0, "{}\n");
  reported.is_unwanted = true;
  CHECK(reported.count({3, 0})->reports == 0);
  reported.is_unwanted = false;
  std::ofstream(metrics_log_file(reported.directory.path(), 0)) << "[]\n";
  CHECK_FALSE(reported.count({3, 0}));
}

TEST_CASE("what patterns find in the output counts as well, and of rank 0 the latest is told") {
  Reported reported;
  const std::vector<std::string> patterns = {"loss (?P<loss>[0-9.]+)"};
  const auto append = [&](std::int64_t time_us, OutputStream stream, const std::string& bytes) {
    REQUIRE(reported.logs.append({0, stream, time_us, bytes, 0}, 0, LogSink::NoRoom::waits)
                .trouble.empty());
  };
  append(10, OutputStream::out, "loss 1\nloss 0.");
  append(20, OutputStream::metrics, "{\"loss\": 7}\n");
  append(30, OutputStream::err, "loss 2\n");
  append(40, OutputStream::out, "5\n");
  const auto count = [&](std::uint64_t metrics, std::uint64_t printed) {
    return *count_reports(reported.directory.path(), 0, {{metrics, 0}, {printed, 0}}, patterns,
                          reported.is_unwanted);
  };
  CHECK(count(12, 14).reports == 2);
  CHECK(count(12, 14).last_report == R"({"loss":7})");
  CHECK(count(12, 21).reports == 3);
  CHECK(count(12, 21).last_report == R"({"loss":2})");
  CHECK(count(12, 23).last_report == R"({"loss":0.5})");
  CHECK(count(0, 23).reports == 3);
  CHECK(count(0, 23).ignored == 0);
}
