// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "backends/log/log_files.hpp"
#include "backends/log/log_reader.hpp"
#include "backends/log/whole_part.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;

namespace {

namespace fs = std::filesystem;

std::string log_file(const std::string& folder) { return folder + "/rank-0.0.log"; }

LogPiece piece(const std::string& bytes) { return {0, OutputStream::out, 0, bytes, 0}; }

LogPiece gap_of(std::uint64_t dropped) { return {0, OutputStream::out, 0, "", dropped}; }

/// All of a log, with "<n>" where n are missing.
std::string read_log(const std::string& folder) {
  LogDirectory directory(folder);
  REQUIRE(directory.refresh());
  LogReader reader(directory, log_file(folder));
  std::string text;
  while (true) {
    const auto next = reader.peek();
    if (!next) return text + "!" + render(next.error());
    if (!*next) break;
    const auto bytes = reader.take();
    if (!bytes) return text + "!" + render(bytes.error());
    if (!*bytes) continue;  // it was removed
    if (const std::uint64_t gap = (*next)->gap + (*next)->record.dropped; gap > 0)
      text += "<" + std::to_string(gap) + ">";
    text += **bytes;
  }
  if (reader.bytes_without_record() > 0) text += "!more";
  return text;
}

/// What a rank prints: its byte at every position.
char printed(std::uint64_t position) {
  return static_cast<char>('a' + (position * 7 + position / 26) % 26);
}
std::string printed(std::uint64_t begin, std::uint64_t end) {
  std::string text;
  for (; begin < end; ++begin) text += printed(begin);
  return text;
}

std::uint64_t first_byte(const std::string& folder) {
  LogDirectory directory(folder);
  REQUIRE(directory.refresh());
  const auto segments = directory.segments_of(log_file(folder));
  return segments.empty() ? 0 : segments.front();
}

/// Goes on with the log and prints from there to `end`, then checks that it is as if nothing had
/// happened.
void go_on_and_check(const std::string& folder, LogLimits limits, std::uint64_t end) {
  LogFiles logs({log_file(folder)}, limits);
  const auto positions = logs.adopt();
  REQUIRE(positions);
  REQUIRE(positions->size() == 1);
  const std::uint64_t position = positions->front();
  // A first segment that is not there counts as removed for want of room.
  const std::uint64_t begin = first_byte(folder);
  const std::string removed = begin > 0 ? "<" + std::to_string(begin) + ">" : "";
  REQUIRE(position <= end);
  REQUIRE(read_log(folder) == removed + printed(begin, position));
  REQUIRE(logs.append(piece(printed(position, end)), 0).trouble.empty());
  REQUIRE(read_log(folder) == removed + printed(begin, end));
}

void resize(const fs::path& path, std::uintmax_t size) {
  if (fs::exists(path)) fs::resize_file(path, size);
}

void copy_folder(const fs::path& from, const fs::path& to) {
  fs::remove_all(to);
  fs::copy(from, to);
}

}  // namespace

TEST_CASE(
    "a log that was interrupted at any byte of its files goes on without loss or repetition") {
  const TemporaryDirectory directory;
  const fs::path whole = directory.path() + "/whole";
  const std::string folder = directory.path() + "/torn";
  fs::create_directory(whole);
  const LogLimits limits{.segment = GENERATE(as<std::uint64_t>{}, 200, 1u << 20)};
  std::uint64_t end = 0;
  {
    LogFiles logs({log_file(whole)}, limits);
    REQUIRE(logs.create());
    for (const std::uint64_t size : {5u, 1u, 40u, 17u, 64u}) {
      REQUIRE(logs.append(piece(printed(end, end + size)), 0).trouble.empty());
      end += size;
    }
  }
  std::vector<fs::path> names;
  for (const auto& file : fs::directory_iterator(whole)) names.push_back(file.path().filename());
  for (const fs::path& name : names) {
    for (std::uintmax_t size = 0; size <= fs::file_size(whole / name); ++size) {
      CAPTURE(name, size);
      copy_folder(whole, folder);
      resize(folder / name, size);
      go_on_and_check(folder, limits, end + 10);
    }
    CAPTURE(name);
    copy_folder(whole, folder);
    fs::remove(folder / name);
    go_on_and_check(folder, limits, end + 10);
  }
}

TEST_CASE("a log whose files were cut anywhere, or have other bytes, goes on from what is whole") {
  const unsigned seed = GENERATE(range(0u, 150u));
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](std::uintmax_t end) { return random() % end; };
  const TemporaryDirectory directory;
  const LogLimits limits{.segment = 300 + below(1'000)};
  std::uint64_t end = 0;
  {
    LogFiles logs({log_file(directory.path())}, limits);
    REQUIRE(logs.create());
    for (int i = 0; i < 30; ++i) {
      const std::uint64_t size = 1 + below(200);
      REQUIRE(logs.append(piece(printed(end, end + size)), 0).trouble.empty());
      end += size;
    }
  }
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(directory.path())) files.push_back(file.path());
  for (int fault = 0; fault < 2; ++fault) {
    const fs::path& file = files[below(files.size())];
    const auto size = fs::file_size(file);
    if (size == 0) continue;
    const auto at = below(size);
    if (below(2) == 0) {
      fs::resize_file(file, at);
      if (below(2) == 0) fs::resize_file(file, size);  // zeros, as after a loss of power
    } else {
      std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
      bytes.seekp(static_cast<std::streamoff>(at));
      bytes.put('\x7f');
    }
  }
  go_on_and_check(directory.path(), limits, end + 1'000);
}

TEST_CASE("gaps and what was removed survive an adoption") {
  const TemporaryDirectory directory;
  const LogLimits limits{.of_rank = 1'000, .segment = 250};
  {
    LogFiles logs({log_file(directory.path())}, limits);
    REQUIRE(logs.create());
    for (int i = 0; i < 40; ++i) logs.append(piece(std::string(50, 'x')), 0);
    logs.append(gap_of(1'000'000), 0);
    logs.append(piece("y"), 0);
    logs.append(gap_of(7), 0);
  }
  const std::string before = read_log(directory.path());
  CHECK(before.find("<1000000>y<7>") != std::string::npos);
  LogFiles logs({log_file(directory.path())}, limits);
  const auto positions = logs.adopt();
  REQUIRE(positions);
  CHECK(positions->front() == 1'002'008);
  CHECK(read_log(directory.path()) == before);
  for (int i = 0; i < 100; ++i) logs.append(piece(std::string(50, 'z')), 0);
  std::uintmax_t bytes = 0;
  for (const auto& file : fs::directory_iterator(directory.path())) bytes += file.file_size();
  CHECK(bytes <= limits.of_rank);  // what was there before counts
}

TEST_CASE("logs that are not there begin at nothing, each by itself") {
  const TemporaryDirectory directory;
  {
    LogFiles logs({log_file(directory.path())}, {});
    REQUIRE(logs.create());
    logs.append(piece("abc"), 0);
  }
  LogFiles logs({log_file(directory.path()), directory.path() + "/rank-1.0.log"}, {});
  const auto positions = logs.adopt();
  REQUIRE(positions);
  CHECK(*positions == std::vector<std::uint64_t>{3, 0});
  LogFiles nowhere({"/nowhere/rank-0.0.log"}, {});
  const auto refused = nowhere.adopt();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().error_class == ErrorClass::no_input);
}

TEST_CASE("a log whose writer was killed while it wrote goes on without loss or repetition",
          "[once]") {
  const TemporaryDirectory directory;
  const LogLimits limits{.segment = 20'000};
  std::uint64_t end = 0;
  std::mt19937 random(4711);
  for (int kill = 0; kill < 40; ++kill) {
    CAPTURE(kill);
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      LogFiles logs({log_file(directory.path())}, limits);
      const auto positions = logs.adopt();
      if (!positions || ::write(ready[1], "r", 1) != 1) ::_exit(1);
      for (std::uint64_t at = positions->front();; at += 100)
        if (!logs.append(piece(printed(at, at + 100)), 0).trouble.empty()) ::_exit(2);
    }
    REQUIRE(child > 0);
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    const timespec a_moment{0, static_cast<long>(random() % 3'000'000)};
    ::nanosleep(&a_moment, nullptr);  // waits: it is killed at any moment
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    ::close(ready[0]);
    ::close(ready[1]);
    LogFiles logs({log_file(directory.path())}, limits);
    const auto positions = logs.adopt();
    REQUIRE(positions);
    REQUIRE(positions->front() >= end);
    end = positions->front();
  }
  CHECK(end > 0);
  CHECK(read_log(directory.path()) == printed(0, end));
}
