// SPDX-License-Identifier: Apache-2.0
#include "backends/log/attempt_logs.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "launcher/output/log_index.hpp"
#include "launcher/record/task_record.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;

namespace {

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("each attempt has logs of its own") {
  const TemporaryDirectory directory;
  AttemptLogs logs(directory.path(), 2, {});
  REQUIRE(logs.create());
  CHECK(logs.append({0, OutputStream::out, 1, "first", 0, {0, 0}}, 0).trouble.empty());
  CHECK(logs.append({0, OutputStream::out, 2, "second", 0, {0, 1}}, 0).trouble.empty());
  CHECK(contents(rank_log_file(directory.path(), 0, 0)) == "first");
  CHECK(contents(rank_log_file(directory.path(), 0, 1)) == "second");
  CHECK(std::filesystem::exists(rank_log_file(directory.path(), 1, 1)));
}

TEST_CASE("an attempt that prints nothing has its files too") {
  const TemporaryDirectory directory;
  AttemptLogs logs(directory.path(), 1, {});
  REQUIRE(logs.create());
  CHECK(logs.append({0, OutputStream::out, 0, {}, 0, {0, 3}}, 0).trouble.empty());
  CHECK(std::filesystem::exists(rank_log_file(directory.path(), 0, 3)));
  CHECK(std::filesystem::file_size(rank_log_file(directory.path(), 0, 3)) == 0);
}

TEST_CASE("what comes of an attempt after the next has begun is lost, and said to be") {
  const TemporaryDirectory directory;
  AttemptLogs logs(directory.path(), 1, {});
  REQUIRE(logs.create());
  logs.append({0, OutputStream::out, 0, "new", 0, {0, 1}}, 0);
  const auto outcome = logs.append({0, OutputStream::out, 0, "late", 0, {0, 0}}, 0);
  CHECK(outcome.lost == 4);
  CHECK_FALSE(outcome.trouble.empty());
}

TEST_CASE("a gap that begins an attempt is in its log") {
  const TemporaryDirectory directory;
  AttemptLogs logs(directory.path(), 1, {});
  REQUIRE(logs.create());
  CHECK(logs.append({0, OutputStream::out, 1, {}, 7, {0, 1}}, 0).trouble.empty());
  CHECK(logs.append({0, OutputStream::out, 2, "behind", 0, {0, 1}}, 0).trouble.empty());
  const auto index = contents(log_index(rank_log_file(directory.path(), 0, 1), 0));
  REQUIRE(index.size() == log_header_size + 2 * log_record_size);
  const auto record = decode_log_record(index.substr(log_header_size, log_record_size));
  REQUIRE(record);
  CHECK(record->dropped == 7);
}

TEST_CASE("what an attempt has printed is synced also when the next has begun") {
  const TemporaryDirectory directory;
  AttemptLogs logs(directory.path(), 1, {});
  REQUIRE(logs.create());
  logs.append({0, OutputStream::out, 1, "first", 0, {0, 0}}, 0);
  logs.append({0, OutputStream::out, 2, "second", 0, {0, 1}}, 0);
  // Its name is a link by now, which is not followed.
  const std::string first = rank_log_file(directory.path(), 0, 0);
  std::filesystem::remove(first);
  std::filesystem::create_symlink(first, first);
  const LogSink::Sync sync = logs.begin_sync();
  for (int i = 0; i < 2; ++i) {
    const LogSink::Synced synced = sync();
    CHECK(synced.trouble.find("rank-0.0.log") != std::string::npos);
    CHECK(synced.lost.empty());
  }
  CHECK(logs.begin_sync()().trouble.empty());
}

TEST_CASE("an attempt whose logs cannot be made loses its output, and says why") {
  const TemporaryDirectory directory;
  AttemptLogs logs(directory.path(), 1, {});
  REQUIRE(logs.create());
  std::filesystem::create_directory(rank_log_file(directory.path(), 0, 1));
  const auto outcome = logs.append({0, OutputStream::out, 0, "bytes", 0, {0, 1}}, 0);
  CHECK(outcome.lost == 5);
  CHECK_FALSE(outcome.trouble.empty());
}
