// SPDX-License-Identifier: Apache-2.0
#include "backends/log/log_end.hpp"

#include <filesystem>

#include "backends/log/log_files.hpp"
#include "launcher/output/metrics_watch.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;

namespace {

// The log of a rank, of what a test writes into it.
struct Log {
  explicit Log(std::uint64_t segment = 1'000) {
    LogLimits limits;
    limits.segment = segment;
    logs.emplace(std::vector<std::string>{file}, limits);
    REQUIRE(logs->create());
  }
  void add(const std::string& bytes, OutputStream stream = OutputStream::metrics) {
    REQUIRE(logs->append({0, stream, 0, bytes, 0}, 0).trouble.empty());
  }
  void add_gap() { REQUIRE(logs->append({0, OutputStream::out, 0, {}, 7}, 0).trouble.empty()); }
  std::vector<OutputChunk> unfinished() const {
    LogDirectory folder(directory.path());
    REQUIRE(folder.refresh());
    return unfinished_report(folder, file, 0).value();
  }
  /// "out: bytes", "err: bytes", "gap" of each chunk.
  std::vector<std::string> printed(std::uint64_t bytes) const {
    LogDirectory folder(directory.path());
    REQUIRE(folder.refresh());
    const auto chunks = last_printed(folder, file, 0, bytes);
    REQUIRE(chunks);
    std::vector<std::string> words;
    for (const OutputChunk& chunk : *chunks)
      words.push_back(chunk.dropped > 0
                          ? "gap"
                          : (chunk.stream == OutputStream::out ? "out: " : "err: ") + chunk.bytes);
    return words;
  }

  TemporaryDirectory directory;
  std::string file = directory.path() + "/rank-0.0.log";
  std::optional<LogFiles> logs;
};

using Words = std::vector<std::string>;

}  // namespace

// What a watch makes of it is what one makes of the whole.
TEST_CASE("the report that has not ended goes on as if nobody had died") {
  const std::string cut = GENERATE("", "{", "{}\n", "{\"a\": 1}\n{\"b\":", "{\"a\": 1}\n\n", "+",
                                   "{}\n+", "+{}\n{\"c\":", "+\n+", "x", "x\n{", "{}\nx");
  CAPTURE(cut);
  Log log(10'000);
  MetricsWatch whole;
  for (const char c : cut) {
    OutputChunk chunk;
    chunk.stream = OutputStream::metrics;
    if (c == '+') {
      log.add_gap();
      chunk.dropped = 7;
    } else {
      chunk.bytes = c == 'x' ? std::string(longest_report_line + 1, 'x') : std::string(1, c);
      log.add(chunk.bytes);
    }
    whole.look(chunk);
  }
  MetricsWatch adopted;
  for (const OutputChunk& chunk : log.unfinished()) CHECK(adopted.look(chunk).empty());
  CHECK(adopted.ignored() == 0);
  const auto before = whole.ignored();
  OutputChunk more;
  more.stream = OutputStream::metrics;
  more.bytes = "2}\n{\"d\": 3}\n";
  CHECK(adopted.look(more) == whole.look(more));
  CHECK(adopted.ignored() == whole.ignored() - before);
}

TEST_CASE("of a line that is longer than a report, or partly gone, nothing is kept") {
  Log log;
  log.add("{}\n");
  for (int i = 0; i < 30; ++i) log.add(std::string(1'000, 'x'));
  REQUIRE(log.unfinished().size() == 1);
  CHECK(log.unfinished().front().dropped == 1);
  log.add("\n{\"a\"");
  REQUIRE(log.unfinished().size() == 1);
  CHECK(log.unfinished().front().bytes == "{\"a\"");
}

TEST_CASE("where the beginning of a log is gone, so is that of a line without one") {
  Log log;
  log.add(std::string(900, 'x'));
  log.add(std::string(900, 'y'));
  std::filesystem::remove(log.file);
  std::filesystem::remove(log.directory.path() + "/rank-0.0.index");
  REQUIRE(log.unfinished().size() == 1);
  CHECK(log.unfinished().front().dropped == 1);
}

TEST_CASE("a log that is not there ends with nothing") {
  const TemporaryDirectory directory;
  LogDirectory folder(directory.path());
  REQUIRE(folder.refresh());
  CHECK(unfinished_report(folder, directory.path() + "/metrics-0.0.log", 0).value().empty());
  CHECK(last_printed(folder, directory.path() + "/rank-0.0.log", 0, 100).value().empty());
}

TEST_CASE("what was printed last comes by stream, from the beginning of a line on") {
  Log log;
  log.add("first\nsec", OutputStream::out);
  log.add("error\n", OutputStream::err);
  log.add("ond\nthi", OutputStream::out);
  CHECK(log.printed(1'000) == Words{"out: first\nsecond\nthi", "err: error\n"});
  // The first piece that is read begins within a line.
  CHECK(log.printed(9) == Words{"gap", "out: thi"});
  CHECK(log.printed(3) == Words{"gap", "out: thi"});
}

TEST_CASE("gaps are where they were") {
  Log log;
  log.add("first\nsec", OutputStream::out);
  log.add_gap();
  log.add("third\n", OutputStream::out);
  CHECK(log.printed(1'000) == Words{"out: first\nsec", "gap", "out: third\n"});
}
