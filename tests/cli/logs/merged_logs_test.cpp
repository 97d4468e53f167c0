// SPDX-License-Identifier: Apache-2.0
#include "cli/logs/merged_logs.hpp"

#include <fmt/format.h>

#include <random>

#include "backends/log/log_files.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;

namespace {

constexpr std::int64_t one_second = 1'000'000;

/// Logs of a task, of an attempt, and what is shown of them.
class MergedScene {
 public:
  explicit MergedScene(int ranks, LogLimits limits = {}) : logs_(files(ranks), limits) {
    task_.log_directory = directory_.path();
    for (int rank = 0; rank < ranks; ++rank) {
      RankRecord record;
      record.rank = rank;
      record.log_file = rank_log_file(directory_.path(), rank);
      task_.ranks.push_back(record);
    }
    REQUIRE(logs_.create());
  }

  void write(int rank, const std::string& bytes, std::int64_t time_us = 0,
             OutputStream stream = OutputStream::out) {
    constexpr std::size_t most = 64u << 10;
    for (std::size_t at = 0; at < bytes.size(); at += most)
      logs_.append({rank, stream, time_us, bytes.substr(at, most)}, 0);
  }
  std::string show(const MergedLogs::Choice& choice = {}) {
    MergedLogs logs(task_, 0, choice);
    REQUIRE(logs.begin());
    const std::string text = more(logs);
    return text + end(logs);
  }
  MergedLogs open(const MergedLogs::Choice& choice) { return {task_, 0, choice}; }
  static std::string more(MergedLogs& logs) {
    std::string text;
    REQUIRE(logs.print_new(into(text)));
    return text;
  }
  static std::string end(MergedLogs& logs) {
    std::string text;
    REQUIRE(logs.print_end(into(text), false));
    return text;
  }
  std::uint64_t count(const MergedLogs::Choice& choice) {
    const auto lines = MergedLogs(task_, 0, choice).count();
    REQUIRE(lines);
    return *lines;
  }

 private:
  static MergedLogs::Sink into(std::string& text) {
    return [&text](std::string_view more) {
      text += more;
      return true;
    };
  }
  std::vector<std::string> files(int ranks) const {
    std::vector<std::string> files;
    for (int rank = 0; rank < ranks; ++rank)
      files.push_back(rank_log_file(directory_.path(), rank));
    return files;
  }

  TemporaryDirectory directory_;
  LogFiles logs_;
  TaskRecord task_;
};

MergedLogs::Choice last(std::uint64_t lines) { return {{}, {{}, {}, lines}, {}}; }
MergedLogs::Choice since(std::int64_t at_us) { return {{}, {{}, at_us, {}}, {}}; }
MergedLogs::Choice only(OutputStream stream) { return {{}, {stream, {}, {}}, {}}; }
MergedLogs::Choice as_bytes(MergedLogs::Choice choice) {
  choice.ranks = std::set<int>{0};
  choice.style.is_bytes = true;
  return choice;
}

/// Any bytes, with a line end here and there.
std::string noise(std::mt19937& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = random() % 40 == 0 ? '\n' : static_cast<char>(random());
  return bytes;
}

/// As tail(1): what follows the last `lines` line ends, the end of the text not counted.
std::string tail_of(const std::string& bytes, std::uint64_t lines) {
  std::size_t begin = bytes.size();
  for (; lines > 0 && begin > 0; --lines) {
    const std::size_t newline = begin < 2 ? std::string::npos : bytes.rfind('\n', begin - 2);
    begin = newline == std::string::npos ? 0 : newline + 1;
  }
  return bytes.substr(begin);
}

}  // namespace

TEST_CASE("ranks are merged in the order of their times, each line whole") {
  MergedScene scene(3);
  scene.write(0, "a1\na2 be", 10);
  scene.write(1, "b1\n", 20);
  scene.write(0, "gun\n", 30);
  scene.write(2, "c1\nc", 25);
  CHECK(scene.show() == "[0] a1\n[1] b1\n[2] c1\n[0] a2 begun\n[2] c\n");
  CHECK(scene.show({std::set<int>{0, 2}, {}, {}}) == "[0] a1\n[2] c1\n[0] a2 begun\n[2] c\n");
}

TEST_CASE("one stream is shown without the other, also of bytes") {
  MergedScene scene(1);
  scene.write(0, "out 1\n", 1);
  scene.write(0, "err ", 2, OutputStream::err);
  scene.write(0, "out 2\n", 3);
  scene.write(0, "1\n", 4, OutputStream::err);
  CHECK(scene.show(only(OutputStream::err)) == "[0] err 1\n");
  CHECK(scene.show(only(OutputStream::out)) == "[0] out 1\n[0] out 2\n");
  CHECK(scene.show(as_bytes(only(OutputStream::err))) == "err 1\n");
  auto choice = only(OutputStream::out);
  choice.lines.last = 1;
  CHECK(scene.show(choice) == "[0] out 2\n");
}

TEST_CASE("the last lines of a stream are found behind much of the other") {
  MergedScene scene(1);
  for (const char* line : {"one\n", "two\n", "three\n"}) scene.write(0, line, 1, OutputStream::err);
  for (int i = 0; i < 20'000; ++i) scene.write(0, "noise of the other stream\n", 2);
  auto choice = only(OutputStream::err);
  choice.lines.last = 2;
  CHECK(scene.show(choice) == "[0] two\n[0] three\n");
}

TEST_CASE("the last lines are those of all ranks together, and a line without its end is one") {
  MergedScene scene(2);
  for (int i = 0; i < 5; ++i) {
    scene.write(0, fmt::format("a{}\n", i), i * 10);
    scene.write(1, fmt::format("b{}\n", i), i * 10 + 1);
  }
  scene.write(0, "half", 100);
  CHECK(scene.show(last(4)) == "[1] b3\n[0] a4\n[1] b4\n[0] half\n");
  CHECK(scene.show(last(0)).empty());
  CHECK(scene.show(last(99)) == scene.show());
  CHECK(scene.count(last(4)) == 4);
  CHECK(scene.count(last(99)) == 11);
}

TEST_CASE("lines since a time are those that ended since, from their beginnings on") {
  MergedScene scene(1);
  scene.write(0, "old\nbe", 1 * one_second);
  scene.write(0, "gun\nnew\n", 2 * one_second);
  scene.write(0, "newer", 3 * one_second);
  CHECK(scene.show(since(2 * one_second)) == "[0] begun\n[0] new\n[0] newer\n");
  CHECK(scene.show(since(3 * one_second)) == "[0] newer\n");
  CHECK(scene.show(since(4 * one_second)).empty());
  CHECK(scene.show(as_bytes(since(2 * one_second))) == "begun\nnew\nnewer");
  auto choice = since(2 * one_second);
  choice.lines.last = 2;
  CHECK(scene.show(choice) == "[0] new\n[0] newer\n");
}

TEST_CASE("lines since a time are whole, however much lies between their pieces") {
  const std::string noise(5'000, 'x');
  MergedScene scene(1);
  scene.write(0, "old\n", 1 * one_second, OutputStream::err);
  scene.write(0, "be", 1 * one_second, OutputStream::err);
  for (int i = 0; i < 20; ++i) scene.write(0, noise + "\n", 1 * one_second);
  scene.write(0, noise, 1 * one_second);
  scene.write(0, noise, 1 * one_second);
  scene.write(0, "gun\n", 2 * one_second, OutputStream::err);
  scene.write(0, "long\n", 2 * one_second);
  const std::string begun = "[0] begun\n";
  const std::string lengthy = "[0] " + noise + noise + "long\n";
  CHECK(scene.show(since(2 * one_second)) == begun + lengthy);
  for (const OutputStream stream : {OutputStream::err, OutputStream::out}) {
    auto choice = since(2 * one_second);
    choice.lines.stream = stream;
    const bool is_err = stream == OutputStream::err;
    CHECK(scene.show(choice) == (is_err ? begun : lengthy));
    CHECK(scene.show(as_bytes(choice)) == (is_err ? "begun\n" : noise + noise + "long\n"));
    choice.lines.last = 1;
    CHECK(scene.show(choice) == (is_err ? begun : lengthy));
  }
}

TEST_CASE("the first line of a stream is not looked for through all of a long log") {
  MergedScene scene(1);
  const std::string line = std::string(9'999, 'x') + "\n";
  scene.write(0, "far", 1 * one_second, OutputStream::err);
  for (int i = 0; i < 3'000; ++i) scene.write(0, line, 1 * one_second);
  scene.write(0, " away\n", 2 * one_second, OutputStream::err);
  CHECK(scene.show(since(2 * one_second)) == "[0]  away\n");
}

TEST_CASE("a line has the time of its end") {
  ::setenv("TZ", "UTC0", 1);
  ::tzset();
  MergedScene scene(1);
  scene.write(0, "be", 1 * one_second);
  scene.write(0, "gun\n", 2 * one_second + 34'567);
  MergedLogs::Choice choice;
  choice.style.has_times = true;
  CHECK(scene.show(choice) == "1970-01-01T00:00:02.034+00:00 [0] begun\n");
}

TEST_CASE("what is followed goes on where the last lines end") {
  MergedScene scene(1);
  scene.write(0, "1\n2\n3\nha", 1);
  for (const bool bytes : {false, true}) {
    auto logs = scene.open(bytes ? as_bytes(last(1)) : last(1));
    REQUIRE(logs.begin());
    CHECK(MergedScene::more(logs) == (bytes ? "ha" : ""));
    if (!bytes) continue;
    scene.write(0, "lf\n4\n", 2);
    CHECK(MergedScene::more(logs) == "lf\n4\n");
  }
  auto logs = scene.open(last(0));
  REQUIRE(logs.begin());
  CHECK(MergedScene::more(logs).empty());
  scene.write(0, "5\n", 3);
  CHECK(MergedScene::more(logs) == "[0] 5\n");
}

TEST_CASE("the bytes of a rank are shown as they are, whole or the last lines of them") {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    MergedScene scene(1);
    std::string all;
    for (int i = 0; i < 200; ++i) {
      const std::string piece = noise(random, 1 + random() % 4'000);
      scene.write(0, piece, i);
      all += piece;
    }
    CHECK(scene.show(as_bytes({})) == all);
    for (const std::uint64_t lines :
         {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1 + random() % 500}})
      CHECK(scene.show(as_bytes(last(lines))) == tail_of(all, lines));
  }
}

TEST_CASE("logs are shown over segments that are kept, and what is not kept is said once") {
  MergedScene scene(1, log_limits(1u << 20, 1u << 30, 1));
  std::string all;
  for (int i = 0; i < 60'000; ++i) all += fmt::format("{:049}\n", i);
  for (std::size_t at = 0; at < all.size(); at += 5'000) scene.write(0, all.substr(at, 5'000), 1);
  const std::string shown = scene.show();
  CHECK(shown.starts_with("[0] ... "));
  CHECK(shown.find(" bytes of output are not kept ...\n") < 40);
  CHECK(shown.ends_with("59999\n"));
  const std::string end = scene.show(last(10'000));
  CHECK(end.substr(0, 53) == fmt::format("[0] {:049}", 50'000));
  CHECK(end.size() == 10'000 * 54);
}

TEST_CASE("lines that ranks have printed at about the same time are folded, and none is lost") {
  MergedScene scene(3);
  const std::int64_t hold = std::chrono::microseconds(LineFolder::hold).count();
  scene.write(0, "same\nlate\nown 0\n", 1'000);
  scene.write(1, "same\n", 1'000 + hold / 2);
  scene.write(2, "same\n", 1'000 + hold / 2, OutputStream::err);
  scene.write(1, "late\n", 2'000 + hold);
  scene.write(2, "late\nrest", 3'000 + hold);
  MergedLogs::Choice choice;
  choice.style.is_folded = true;
  CHECK(scene.show(choice) == "[0-2] same\n[0] late\n[0] own 0\n[1-2] late\n[2] rest\n");
  choice.lines.last = 3;
  CHECK(scene.show(choice) == "[1-2] late\n[2] rest\n");
}
