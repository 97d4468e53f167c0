// SPDX-License-Identifier: Apache-2.0
#include "backends/observe/metrics_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"
#include "tests/support/loop_until.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

// The metrics files of some ranks, and what was told of them.
class Desk {
 public:
  std::string path(int rank) const {
    return directory.path() + "/metrics-" + std::to_string(rank) + ".jsonl";
  }
  void append(int rank, const std::string& text) const {
    std::ofstream(path(rank), std::ios::app) << text;
  }
  void watch(int rank) {
    append(rank, "");
    files.watch(rank, path(rank));
  }
  /// Ends the rank, and returns all that was ever told of it.
  std::string finish(int rank) {
    bool is_done = false;
    files.finish(rank, [&] { is_done = true; });
    CHECK_FALSE(is_done);  // never from inside
    CHECK(loop_until(loop, [&] { return is_done; }));
    return told[rank];
  }

  TemporaryDirectory directory;
  Loop loop;
  std::map<int, std::string> told;
  FileChanges changes{loop};
  MetricsFiles files{loop, changes,
                     [this](int rank, std::string_view bytes) { told[rank] += bytes; }};
};

}  // namespace

TEST_CASE("what ranks append is told while they run, and what is left at their end") {
  Desk desk;
  desk.watch(0);
  desk.watch(1);
  desk.append(0, "{\"a\":1}\n");
  CHECK(loop_until(desk.loop, [&] { return desk.told[0] == "{\"a\":1}\n"; }));
  desk.append(0, "{\"a\":2}\n");
  desk.append(1, "{}\n");
  CHECK(desk.finish(0) == "{\"a\":1}\n{\"a\":2}\n");
  CHECK(desk.finish(1) == "{}\n");
}

// On a slow machine some of these come late, not all.
TEST_CASE("what a rank has reported before it was watched is told as soon as what comes later") {
  bool is_soon = false;
  for (int tries = 0; tries < 50 && !is_soon; ++tries) {
    Desk desk;
    desk.append(0, "early");
    desk.watch(0);
    run_for(desk.loop, 150ms);  // waits: for what is told in 20, and by a look without cause in 250
    is_soon = desk.told[0] == "early";
  }
  CHECK(is_soon);
}

TEST_CASE("a long file is told whole, in order") {
  Desk desk;
  desk.watch(0);
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + "\n";
  desk.append(0, text);
  CHECK(loop_until(desk.loop, [&] { return desk.told[0].size() == text.size(); }));
  desk.append(0, text);
  CHECK(desk.finish(0) == text + text);
}

TEST_CASE("nothing is read while paused, but at the end of a rank") {
  Desk desk;
  desk.watch(0);
  desk.watch(1);
  desk.files.pause();
  desk.append(0, "{}\n");
  desk.append(1, "{}\n");
  CHECK(desk.finish(0) == "{}\n");
  CHECK(desk.told[1].empty());
  desk.files.resume();
  CHECK(loop_until(desk.loop, [&] { return desk.told[1] == "{}\n"; }));
}

TEST_CASE("nothing is read of ranks that are forgotten") {
  Desk desk;
  desk.watch(0);
  desk.files.forget_all();
  desk.append(0, "{}\n");
  desk.watch(1);
  desk.append(1, "{}\n");
  CHECK(loop_until(desk.loop, [&] { return desk.told[1] == "{}\n"; }));
  CHECK(desk.told[0].empty());
}

// Some of these have the change told before the end, so that nothing is left to be looked at then.
TEST_CASE("what a rank appends is told, although another one wrote while it ended") {
  for (int tries = 0; tries < 20; ++tries) {
    Desk desk;
    bool is_done = false;
    desk.watch(0);
    desk.files.finish(0, [&] { is_done = true; });
    desk.append(0, "late");
    REQUIRE(loop_until(desk.loop, [&] { return is_done; }));
    run_for(desk.loop, 30ms);  // waits: for a look at nothing, which is no event
    desk.watch(1);
    desk.append(1, "{}\n");
    REQUIRE(loop_until(desk.loop, [&] { return desk.told[1] == "{}\n"; }));
  }
}

TEST_CASE("a file that becomes shorter, or is another one now, is read from its beginning") {
  Desk desk;
  desk.watch(0);
  desk.append(0, "{\"first\":1}\n");
  CHECK(loop_until(desk.loop, [&] { return desk.told[0].size() == 12; }));
  std::ofstream(desk.path(0)) << "{\"b\":2}\n";
  CHECK(loop_until(desk.loop, [&] { return desk.told[0].ends_with("{\"b\":2}\n"); }));
  const std::string other = desk.path(0) + ".new";
  std::ofstream(other) << "{\"a longer one\":3}\n";
  std::filesystem::rename(other, desk.path(0));
  CHECK(desk.finish(0) == "{\"first\":1}\n{\"b\":2}\n{\"a longer one\":3}\n");
}

TEST_CASE("what is no regular file is not read, and nobody waits for it") {
  Desk desk;
  for (const int rank : {0, 1, 2, 3}) desk.watch(rank);
  for (const int rank : {0, 1, 2, 3}) std::filesystem::remove(desk.path(rank));
  REQUIRE(::mkfifo(desk.path(0).c_str(), 0600) == 0);
  std::filesystem::create_directory(desk.path(1));
  std::filesystem::create_symlink("/etc/passwd", desk.path(2));
  for (const int rank : {0, 1, 2, 3}) CHECK(desk.finish(rank).empty());
}

TEST_CASE("ranks that have ended cost no descriptor, nor do those that run") {
  Desk desk;
  desk.watch(0);
  desk.append(0, "{}\n");
  desk.finish(0);
  const std::size_t before = count_descriptors();
  for (int rank = 1; rank < 50; ++rank) desk.watch(rank);
  desk.append(49, "{}\n");
  CHECK(loop_until(desk.loop, [&] { return desk.told[49] == "{}\n"; }));
  CHECK(count_descriptors() == before);
}

TEST_CASE("an attempt that is over leaves no instance of inotify to be closed, which takes long") {
  Desk desk;
  desk.watch(0);
  const std::size_t before = count_descriptors();
  std::string told;
  auto other = std::make_unique<MetricsFiles>(desk.loop, desk.changes,
                                              [&](int, std::string_view bytes) { told += bytes; });
  other->watch(0, desk.path(0));  // both look at one file
  desk.append(0, "{}\n");
  CHECK(loop_until(desk.loop, [&] { return told == "{}\n" && desk.told[0] == "{}\n"; }));
  CHECK(count_descriptors() == before);
  other.reset();
  desk.append(0, "{}\n");
  CHECK(desk.finish(0) == "{}\n{}\n");
  CHECK(told == "{}\n");
}

TEST_CASE("what is appended is told at once, however rare the looks have become") {
  Desk desk;
  desk.watch(0);
  desk.watch(1);
  bool is_at_once = false;
  for (std::size_t time = 1; time <= 3 && !is_at_once; ++time) {
    run_for(desk.loop, 1'800ms);  // by itself the next look comes 1.95 s later
    const Instant before = boot_time();
    desk.append(1, "{}\n");
    REQUIRE(loop_until(desk.loop, [&] { return desk.told[1].size() == 3 * time; }));
    is_at_once = boot_time() - before < 1'500ms;  // waits: the machine may have stood still
  }
  CHECK(is_at_once);
}

TEST_CASE("a rank that writes all the time is read now and then") {
  Desk desk;
  desk.watch(0);
  constexpr int looks = 6;
  int told = 0;
  const Instant began = boot_time();
  std::size_t seen = 0;
  CHECK(loop_until(desk.loop, [&] {
    desk.append(0, "{}\n");
    told += std::exchange(seen, desk.told[0].size()) != desk.told[0].size() ? 1 : 0;
    return told == looks;
  }));
  CHECK(boot_time() - began >= (looks - 1) * 20ms);
}
