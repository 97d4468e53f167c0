// SPDX-License-Identifier: Apache-2.0
#include "backends/log/log_files.hpp"

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backends/log/log_reader.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;

namespace {

namespace fs = std::filesystem;

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<std::string> log_files(const TemporaryDirectory& directory, int ranks) {
  std::vector<std::string> files;
  for (int rank = 0; rank < ranks; ++rank)
    files.push_back(directory.path() + "/rank-" + std::to_string(rank) + ".0.log");
  return files;
}

LogPiece piece(int rank, const std::string& bytes, OutputStream stream = OutputStream::out,
               std::int64_t time_us = 0) {
  return {rank, stream, time_us, bytes};
}

LogSink::Outcome add(LogFiles& logs, const LogPiece& piece) { return logs.append(piece, 0); }

/// What a reader has read so far: bytes, with "<n>" where n are gone.
class Reading {
 public:
  Reading(const std::string& path, const std::string& log_file)
      : directory_(path), reader_(directory_, log_file) {}

  void begin_at_last(std::uint64_t bytes) {
    REQUIRE(directory_.refresh());
    REQUIRE(reader_.begin_at_last(bytes));
  }
  std::string all() {
    REQUIRE(directory_.refresh());
    while (true) {
      const auto next = reader_.peek();
      if (!next) return text_ + "!" + render(next.error());
      if (!*next) return text_;
      const auto bytes = reader_.take();
      if (!bytes) return text_ + "!" + render(bytes.error());
      if (!*bytes) continue;
      if ((*next)->gap > 0) text_ += "<" + std::to_string((*next)->gap) + ">";
      if (const auto dropped = (*next)->record.dropped; dropped > 0)
        text_ += "<" + std::to_string(dropped) + ">";
      text_ += **bytes;
      records_.push_back((*next)->record);
    }
  }
  const std::vector<LogRecord>& records() const { return records_; }
  std::uint64_t bytes_without_record() const { return reader_.bytes_without_record(); }

 private:
  LogDirectory directory_;
  LogReader reader_;
  std::string text_;
  std::vector<LogRecord> records_;
};

std::string read_log(const TemporaryDirectory& directory, int rank = 0) {
  return Reading(directory.path(), log_files(directory, rank + 1).back()).all();
}

std::uintmax_t bytes_in(const std::string& directory) {
  std::uintmax_t bytes = 0;
  for (const auto& file : fs::directory_iterator(directory)) bytes += file.file_size();
  return bytes;
}

/// Runs `work` in a child, which exits with what it returns.
int in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("a log is what its rank wrote, byte for byte, and the index has its pieces") {
  const TemporaryDirectory directory;
  LogFiles logs(log_files(directory, 2), {});
  REQUIRE(logs.create());
  CHECK(contents(directory.path() + "/rank-1.0.log").empty());
  add(logs, piece(0, "one\ntw", OutputStream::out, 10));
  add(logs, piece(1, std::string("\0\x1b[31m", 6), OutputStream::err, 11));
  add(logs, piece(0, "o\n", OutputStream::err, 12));
  CHECK(contents(directory.path() + "/rank-0.0.log") == "one\ntwo\n");
  CHECK(contents(directory.path() + "/rank-1.0.log") == std::string("\0\x1b[31m", 6));
  Reading reading(directory.path(), directory.path() + "/rank-0.0.log");
  CHECK(reading.all() == "one\ntwo\n");
  CHECK(reading.records() ==
        std::vector<LogRecord>{{0, 6, checksum_of("one\ntw"), OutputStream::out, 10},
                               {6, 2, checksum_of("o\n"), OutputStream::err, 12}});
}

TEST_CASE("a log is read from where the last of it begins, in whatever segment that is") {
  const TemporaryDirectory directory;
  LogLimits limits;
  limits.segment = 1'000;
  LogFiles logs(log_files(directory, 1), limits);
  REQUIRE(logs.create());
  std::string written;
  for (int i = 0; i < 100; ++i) {
    const std::string bytes(100, static_cast<char>('a' + i % 26));
    REQUIRE(add(logs, piece(0, bytes)).trouble.empty());
    LogPiece gap{0, OutputStream::out, 0, {}, 7};
    if (i % 10 == 5) REQUIRE(add(logs, gap).trouble.empty());
    written += bytes + (i % 10 == 5 ? "<7>" : "");
  }
  const std::string file = directory.path() + "/rank-0.0.log";
  const std::size_t bytes = GENERATE(0, 1, 100, 101, 550, 5'000, 9'999, 10'000, 20'000);
  Reading reading(directory.path(), file);
  reading.begin_at_last(bytes);
  const std::string last = reading.all();
  CAPTURE(bytes, last);
  CHECK(written.ends_with(last));
  const auto letters = static_cast<std::size_t>(
      std::count_if(last.begin(), last.end(), [](char c) { return c >= 'a'; }));
  CHECK(letters >= std::min<std::size_t>(bytes, 10'000));
  CHECK(letters < bytes + 100);
  // What comes after that is read as well.
  REQUIRE(add(logs, piece(0, "later")).trouble.empty());
  CHECK(reading.all() == last + "later");
}

TEST_CASE("the last of one stream is found between what the other has") {
  const TemporaryDirectory directory;
  LogLimits limits;
  limits.segment = 4'000;
  LogFiles logs(log_files(directory, 1), limits);
  REQUIRE(logs.create());
  for (int i = 0; i < 30; ++i) {
    add(logs, piece(0, std::string(1'000, 'o')));
    if (i % 5 == 0) add(logs, piece(0, "e" + std::to_string(i) + "\n", OutputStream::err));
  }
  LogDirectory folder(directory.path());
  REQUIRE(folder.refresh());
  const std::string file = directory.path() + "/rank-0.0.log";
  CHECK(last_of_stream(folder, file, OutputStream::err, 1'000).value() ==
        "e0\ne5\ne10\ne15\ne20\ne25\n");
  CHECK(last_of_stream(folder, file, OutputStream::err, 6).value() == "0\ne25\n");
  CHECK(last_of_stream(folder, file, OutputStream::err, 0).value().empty());
  CHECK(last_of_stream(folder, file, OutputStream::out, 1'500).value() == std::string(1'500, 'o'));
  CHECK_FALSE(last_of_stream(folder, directory.path() + "/none.0.log", OutputStream::err, 1));
}

TEST_CASE("more ranks than files may be open are all logged") {
  const TemporaryDirectory directory;
  constexpr int ranks = 400;
  LogFiles logs(log_files(directory, ranks), {});
  REQUIRE(logs.create());
  for (const char* text : {"a", "b"})
    for (int rank = 0; rank < ranks; ++rank) CHECK(add(logs, piece(rank, text)).trouble.empty());
  int complete = 0;
  for (int rank = 0; rank < ranks; ++rank) complete += read_log(directory, rank) == "ab";
  CHECK(complete == ranks);
  const auto open = std::distance(fs::directory_iterator("/proc/self/fd"), {});
  CHECK(open < 300);
}

TEST_CASE("of a rank's log the oldest goes, and positions survive it") {
  const TemporaryDirectory directory;
  const LogLimits limits = log_limits(64u << 10, 0, 1);
  LogFiles logs(log_files(directory, 1), limits);
  REQUIRE(logs.create());
  std::string written;
  const auto size = GENERATE(as<std::size_t>{}, 1, 100, 5'000, max_chunk_bytes);
  while (written.size() < (size == 1 ? 20'000u : 500'000u)) {
    const std::string bytes(size, static_cast<char>('a' + written.size() % 26));
    REQUIRE(add(logs, piece(0, bytes)).trouble.empty());
    written += bytes;
  }
  CHECK(bytes_in(directory.path()) <= limits.of_rank);
  CHECK(bytes_in(directory.path()) > limits.of_rank / 2);
  Reading reading(directory.path(), directory.path() + "/rank-0.0.log");
  const std::string kept = reading.all();
  const std::uint64_t gap = std::stoull(kept.substr(1));
  CHECK(kept == "<" + std::to_string(gap) + ">" + written.substr(gap));
  for (const LogRecord& record : reading.records())
    CHECK(record.checksum == checksum_of(written.substr(record.begin, record.length)));
}

TEST_CASE("a reader that was overtaken by the limit tells how much it has missed") {
  const TemporaryDirectory directory;
  LogFiles logs(log_files(directory, 1), log_limits(least_log_limit, 0, 1));
  REQUIRE(logs.create());
  const std::string bytes(1'000, 'x');
  Reading reading(directory.path(), directory.path() + "/rank-0.0.log");
  add(logs, piece(0, bytes));
  CHECK(reading.all() == bytes);
  std::uint64_t written = bytes.size();
  for (int i = 0; i < 100; ++i, written += bytes.size()) add(logs, piece(0, bytes));
  const std::string seen = reading.all();
  const std::string behind = seen.substr(bytes.size());
  REQUIRE(behind.starts_with("<"));
  const std::uint64_t gap = std::stoull(behind.substr(1));
  CHECK(bytes.size() + gap + behind.size() - behind.find('>') - 1 == written);
}

TEST_CASE("a piece that was written in part is not read, and the rest is") {
  const TemporaryDirectory directory;
  const std::string log = directory.path() + "/rank-0.0.log";
  const std::string index = directory.path() + "/rank-0.0.index";
  {
    LogFiles logs(log_files(directory, 1), {});
    REQUIRE(logs.create());
    add(logs, piece(0, "whole"));
    add(logs, piece(0, "broken"));
  }
  const auto size = GENERATE(as<std::uintmax_t>{}, 17, 32, 47, 49, 60, 79);
  fs::resize_file(index, size);
  Reading reading(directory.path(), log);
  CHECK(reading.all() == (size < log_header_size + log_record_size ? "" : "whole"));
  CHECK(reading.bytes_without_record() > 0);
}

TEST_CASE("a log whose bytes are not those of its index is said to be damaged") {
  const TemporaryDirectory directory;
  {
    LogFiles logs(log_files(directory, 1), {});
    REQUIRE(logs.create());
    add(logs, piece(0, "whole"));
  }
  std::ofstream(directory.path() + "/rank-0.0.log") << "wrong";
  CHECK(read_log(directory).find("is damaged") != std::string::npos);
}

TEST_CASE("what a full disk does not take waits, and is written once when there is room") {
  if (::geteuid() != 0) return;
  const TemporaryDirectory directory;
  REQUIRE(::mount("train", directory.path().c_str(), "tmpfs", 0, "size=256k") == 0);
  LogFiles logs(log_files(directory, 1), {.segment = 32u << 10});
  REQUIRE(logs.create());
  const std::string filler = directory.path() + "/filler";
  add(logs, piece(0, "before"));
  std::string bytes;
  for (std::size_t i = 0; i < 60'000; ++i) bytes += static_cast<char>('a' + i % 26);
  std::ofstream(filler) << std::string((200u << 10), 'f');
  auto outcome = add(logs, piece(0, bytes));
  CHECK(outcome.is_waiting);
  CHECK(outcome.lost == 0);
  CHECK(outcome.trouble.find("no space left on device") != std::string::npos);
  CHECK(outcome.taken > 0);  // as much as one segment
  CHECK(outcome.taken < bytes.size());
  const auto again = logs.append(piece(0, bytes), outcome.taken);
  CHECK(again.is_waiting);
  CHECK(again.taken == outcome.taken);
  const bool waits = GENERATE(true, false);
  if (!waits) {
    const auto lost = logs.append(piece(0, bytes), outcome.taken, LogSink::NoRoom::is_lost);
    CHECK_FALSE(lost.is_waiting);
    CHECK(lost.taken == bytes.size());
    CHECK(lost.lost == bytes.size() - outcome.taken);
    outcome.taken = bytes.size();
  }
  fs::remove(filler);
  outcome = logs.append(piece(0, bytes), outcome.taken);
  CHECK_FALSE(outcome.is_waiting);
  CHECK(outcome.trouble.empty());
  add(logs, piece(0, "after"));
  const std::string kept = read_log(directory);
  ::umount2(directory.path().c_str(), MNT_DETACH);
  if (waits)
    CHECK(kept == "before" + bytes + "after");
  else
    CHECK((kept.starts_with("before" + bytes.substr(0, 100)) && kept.ends_with("after") &&
           kept.size() < bytes.size()));
}

TEST_CASE("what can never be written is lost, and the log goes on behind a gap of that size") {
  const TemporaryDirectory directory;
  const std::string folder = directory.path() + "/logs";
  fs::create_directory(folder);
  LogFiles logs({folder + "/rank-0.0.log"}, {.segment = 100});
  REQUIRE(logs.create());
  add(logs, piece(0, std::string(60, 'a')));
  fs::rename(folder, directory.path() + "/away");
  const auto outcome = add(logs, piece(0, std::string(60, 'b')));  // in a new segment
  CHECK_FALSE(outcome.is_waiting);
  CHECK(outcome.taken == 60);
  CHECK(outcome.lost == 60);
  CHECK(outcome.trouble.find("no such file or directory") != std::string::npos);
  fs::rename(directory.path() + "/away", folder);
  CHECK(add(logs, piece(0, "after")).trouble.empty());
  Reading reading(folder, folder + "/rank-0.0.log");
  CHECK(reading.all() == std::string(60, 'a') + "<60>after");
}

TEST_CASE("what a host has dropped is a gap, wherever it comes, and has positions") {
  const TemporaryDirectory directory;
  LogFiles logs(log_files(directory, 1), {});
  REQUIRE(logs.create());
  LogPiece gap = piece(0, "");
  gap.dropped = std::uint64_t{5} << 32;
  add(logs, gap);
  add(logs, piece(0, "one"));
  add(logs, gap);
  Reading reading(directory.path(), directory.path() + "/rank-0.0.log");
  const std::string size = std::to_string(gap.dropped);
  CHECK(reading.all() == "<" + size + ">one<" + size + ">");
  add(logs, piece(0, "two"));
  CHECK(reading.all() == "<" + size + ">one<" + size + ">two");
  CHECK(reading.records().back().begin == 2 * gap.dropped + 3);
  CHECK(reading.bytes_without_record() == 0);
}

TEST_CASE("a limit on the length of files makes segments shorter and loses nothing") {
  const TemporaryDirectory directory;
  const int code = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{20'000, 20'000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    LogFiles logs(log_files(directory, 1), {});
    if (!logs.create()) return 2;
    for (int i = 0; i < 10; ++i)
      if (!add(logs, piece(0, std::string(max_chunk_bytes, 'x'))).trouble.empty()) return 3;
    return 0;
  });
  CHECK(code == 0);
  CHECK(read_log(directory) == std::string(10 * max_chunk_bytes, 'x'));
}

TEST_CASE("a log that cannot be made is said, a link is not followed") {
  const TemporaryDirectory directory;
  fs::create_symlink("/dev/null", directory.path() + "/rank-0.0.log");
  LogFiles logs(log_files(directory, 1), {});
  const auto created = logs.create();
  REQUIRE_FALSE(created);
  CHECK(created.error().error_class == ErrorClass::no_input);
  CHECK(add(logs, piece(0, "x")).lost == 1);
}
