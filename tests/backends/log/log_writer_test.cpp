// SPDX-License-Identifier: Apache-2.0
#include "backends/log/log_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/catch.hpp"
#include "tests/support/loop_until.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

/// Writes nothing until it may, as a disk that does not answer; takes no more than there is room.
class StalledSink final : public LogSink {
 public:
  Outcome append(const LogPiece& piece, std::size_t from, NoRoom no_room) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
    ++tries_;
    Outcome outcome = outcome_;
    outcome.taken = std::min(piece.bytes.size(), from + room_);
    room_ -= outcome.taken - from;
    bytes_ += piece.bytes.substr(from, outcome.taken - from);
    if (outcome.taken == piece.bytes.size()) return outcome;
    outcome.trouble = "cannot write: no space left on device";
    outcome.is_waiting = no_room == NoRoom::waits;
    if (outcome.is_waiting) return outcome;
    outcome.lost = piece.bytes.size() - outcome.taken;
    outcome.taken = piece.bytes.size();
    return outcome;
  }
  void end_trial(int trial) override {
    const std::lock_guard lock(mutex_);
    bytes_ += fmt::format("<end of {}>", trial);
  }
  Sync begin_sync() override {
    const std::lock_guard lock(mutex_);
    return [this, bytes = bytes_] {
      std::unique_lock held(mutex_);
      changed_.wait(held, [this] { return may_sync_; });
      ++syncs_;
      if (sync_failures_ > 0) {
        --sync_failures_;
        return Synced{"cannot sync: too many open files", {}};
      }
      synced_ = bytes;
      return Synced{{}, std::exchange(sync_loss_, {})};
    };
  }
  void open() {
    change([this] { open_ = may_sync_ = true; });
  }
  void stop_syncs() {
    change([this] { may_sync_ = false; });
  }
  void make_room(std::size_t bytes) {
    change([&] { room_ = bytes; });
  }
  void fail_syncs(int count) {
    change([&] { sync_failures_ = count; });
  }
  void lose_in_sync(const std::string& why) {
    change([&] { sync_loss_ = why; });
  }
  std::string bytes() {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }
  std::string synced() {
    const std::lock_guard lock(mutex_);
    return synced_;
  }
  int tries() {
    const std::lock_guard lock(mutex_);
    return tries_;
  }
  int syncs() {
    const std::lock_guard lock(mutex_);
    return syncs_;
  }
  void fail_with(Outcome outcome) { outcome_ = std::move(outcome); }

 private:
  void change(const std::function<void()>& how) {
    const std::lock_guard lock(mutex_);
    how();
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  bool may_sync_ = true;
  std::size_t room_ = SIZE_MAX / 2;
  int sync_failures_ = 0;
  std::string sync_loss_;
  int tries_ = 0;
  int syncs_ = 0;
  std::string bytes_;
  std::string synced_;
  Outcome outcome_;
};

// A disk that answers late on a busy machine stalls as well: where nothing is to be said of that,
// it has more time.
constexpr milliseconds any_time = 1h;

struct Fixture {
  explicit Fixture(milliseconds stall = 30ms)
      : writer{loop,
               sink,
               "/logs",
               {[this] { on_written(); },
                [this](const TerminalText& line) { said.push_back(line.text()); },
                [this] { return may_write.load(); }, [this] { ++refusals; }},
               {.look = 5ms, .stall = stall, .last_stall = 2 * stall, .sync = 20ms}} {}

  Loop loop;
  std::shared_ptr<StalledSink> sink = std::make_shared<StalledSink>();
  std::vector<std::string> said;
  std::function<void()> on_written = [] {};
  std::atomic<bool> may_write = true;
  int refusals = 0;
  LogWriter writer;

  ~Fixture() { sink->open(); }  // its thread may still be there

  void write(const std::string& bytes) { writer.write({0, OutputStream::out, 0, bytes}); }
};

}  // namespace

TEST_CASE("pieces are written in their order, and counted when they are") {
  Fixture fixture(any_time);
  std::vector<std::uint64_t> counts;
  fixture.on_written = [&] { counts.push_back(fixture.writer.written()); };
  CHECK(fixture.writer.write({0, OutputStream::out, 0, "a"}) == 1);
  CHECK(fixture.writer.write({0, OutputStream::out, 0, "b"}) == 2);
  CHECK(fixture.writer.write({0, OutputStream::out, 0, "c"}) == 3);
  CHECK(fixture.writer.written() == 0);
  fixture.sink->open();
  CHECK(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == 3; }));
  CHECK(fixture.sink->bytes() == "abc");
  CHECK(counts.back() == 3);
  CHECK(fixture.said.empty());
}

TEST_CASE("a disk that does not answer stops nothing else, counts nothing, and is named") {
  Fixture fixture;
  fixture.write("a");
  int ticks = 0;
  std::unique_ptr<Subscription> tick;
  const std::function<void()> count = [&] {
    ++ticks;
    tick = fixture.loop.after(1ms, count);
  };
  count();
  REQUIRE(testing::loop_until(fixture.loop, [&] { return !fixture.said.empty(); }));
  CHECK(ticks > 1);
  CHECK(fixture.said.front().find("the log disk (/logs) has not answered for") == 0);
  fixture.write("b");
  CHECK(fixture.writer.written() == 0);
  fixture.sink->open();
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == 2; }));
  REQUIRE(fixture.said.size() == 2);
  CHECK(fixture.said.back().find("answers again") != std::string::npos);
  fixture.writer.finish();
  CHECK(fixture.sink->bytes() == "ab");
  CHECK(fixture.said.size() == 2);
}

TEST_CASE(
    "the end waits for a disk that does not answer so long and no longer, and says what is lost") {
  Fixture fixture;
  fixture.write("abc");
  fixture.write("de");
  fixture.writer.finish();
  CHECK(fixture.writer.written() == 2);
  REQUIRE(fixture.said.size() >= 2);
  CHECK(fixture.said.back() == "5 bytes of output are not in the logs (/logs)");
  CHECK(fixture.said[fixture.said.size() - 2].find("is not waited for any longer") !=
        std::string::npos);
}

TEST_CASE("ranks that are being stopped do not wait for a disk that does not answer") {
  Fixture fixture;
  bool was_told = false;
  fixture.on_written = [&] { was_told = true; };
  fixture.write("abc");
  fixture.writer.expect_end();
  CHECK(testing::loop_until(fixture.loop, [&] { return was_told; }));
  CHECK(fixture.writer.written() == 1);
  was_told = false;
  CHECK(fixture.writer.write({0, OutputStream::out, 0, "late"}) == 2);
  CHECK(fixture.writer.written() == 2);
  CHECK_FALSE(was_told);  // its owner is inside of `write`
  CHECK(testing::loop_until(fixture.loop, [&] { return was_told; }));
  fixture.writer.finish();
  CHECK(fixture.said.back() == "7 bytes of output are not in the logs (/logs)");
}

TEST_CASE("trouble with writing is said once, and what it cost at the end") {
  Fixture fixture(any_time);
  fixture.sink->fail_with(
      {0, false, 2, "cannot write '/logs/rank-0.0.log': no space left on device"});
  fixture.sink->open();
  for (int i = 0; i < 5; ++i) {
    fixture.write("xyz");
    REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == i + 1u; }));
  }
  CHECK(fixture.said ==
        std::vector<std::string>{"cannot write '/logs/rank-0.0.log': no space left on device"});
  fixture.writer.finish();
  CHECK(fixture.said.back() == "10 bytes of output are not in the logs (/logs)");
}

TEST_CASE("a full disk is said once, loses nothing and goes on by itself") {
  Fixture fixture(any_time);
  fixture.sink->open();
  fixture.sink->make_room(5);
  fixture.write("abc");
  fixture.write("defg");
  fixture.write("h");
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.sink->tries() > 5; }));
  CHECK(fixture.writer.written() == 1);
  CHECK(fixture.sink->bytes() == "abcde");
  REQUIRE(fixture.said.size() == 1);
  CHECK(fixture.said.front().find("no space left on device: output is kept on the hosts") !=
        std::string::npos);
  fixture.sink->make_room(1'000);
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == 3; }));
  CHECK(fixture.sink->bytes() == "abcdefgh");
  REQUIRE(fixture.said.size() == 2);
  CHECK(fixture.said.back() == "the log disk (/logs) takes output again");
  fixture.writer.finish();
  CHECK(fixture.said.size() == 2);
}

TEST_CASE("at the end a full disk is waited for so long and no longer, and what is lost is said") {
  Fixture fixture;
  fixture.sink->open();
  fixture.sink->make_room(5);
  fixture.write("abc");
  fixture.write("defg");
  const bool is_told = GENERATE(false, true);
  if (is_told) {
    fixture.writer.expect_end();
    REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == 2; }));
  }
  fixture.writer.finish();
  CHECK(fixture.writer.written() == 2);
  CHECK(fixture.said.back() == "2 bytes of output are not in the logs (/logs)");
}

TEST_CASE("a full disk does not hold up the next attempt, whose output waits for room again") {
  Fixture fixture;
  fixture.sink->open();
  fixture.sink->make_room(5);
  fixture.write("abcdefg");
  fixture.writer.expect_another({0, 0});
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == 1; }));
  fixture.writer.write({0, OutputStream::out, 0, "of the next", 0, {0, 1}});
  const int tries = fixture.sink->tries();
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.sink->tries() > tries + 30; }));
  CHECK(fixture.writer.written() == 1);
  for (const std::string& line : fixture.said) CHECK(line.find("takes output again") == line.npos);
  fixture.sink->make_room(100);
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == 2; }));
  fixture.writer.finish();
  CHECK(fixture.sink->bytes() == "abcdeof the next");
  CHECK(fixture.said.back() == "2 bytes of output are not in the logs (/logs)");
}

TEST_CASE("a disk that hangs does not hold up the next attempt, whose output waits for it") {
  Fixture fixture;
  const auto write = [&](const std::string& bytes, int attempt) {
    fixture.writer.write({0, OutputStream::out, 0, bytes, 0, {0, attempt}});
  };
  write("hangs", 0);
  write("waits", 0);
  fixture.writer.expect_another({0, 0});
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == 2; }));
  write("late", 0);
  CHECK(fixture.writer.written() == 3);
  write("next", 1);
  testing::run_for(fixture.loop, 100ms);
  CHECK(fixture.writer.written() == 3);
  CHECK(fixture.said.back().find("the last output of the attempt that has ended may be missing") !=
        std::string::npos);
  SECTION("which answers at last") {
    fixture.sink->open();
    REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == 4; }));
    fixture.writer.finish();
    CHECK(fixture.sink->bytes() == "hangsnext");
    CHECK(fixture.said.back() == "9 bytes of output are not in the logs (/logs)");
  }
  SECTION("which never answers") {
    fixture.writer.finish();
    CHECK(fixture.said.back() == "18 bytes of output are not in the logs (/logs)");
  }
}

TEST_CASE("a full disk loses of an attempt that has ended, and of no other trial") {
  Fixture fixture;
  const auto write = [&](const std::string& bytes, AttemptId of) {
    fixture.writer.write({0, OutputStream::out, 0, bytes, 0, of});
  };
  fixture.sink->open();
  fixture.sink->make_room(5);
  write("abcdefg", {1, 2});
  write("of another trial", {2, 0});
  fixture.writer.expect_another({1, 2});
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == 1; }));
  const int tries = fixture.sink->tries();
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.sink->tries() > tries + 30; }));
  CHECK(fixture.writer.written() == 1);
  fixture.sink->make_room(100);
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == 2; }));
  fixture.writer.finish();
  CHECK(fixture.sink->bytes() == "abcdeof another trial");
  CHECK(fixture.said.back() == "2 bytes of output are not in the logs (/logs)");
}

TEST_CASE("a full disk is not given a last chance anew by each trial") {
  Fixture fixture;
  fixture.sink->open();
  fixture.sink->make_room(0);
  fixture.writer.write({0, OutputStream::out, 0, "abc", 0, {0, 0}});
  fixture.writer.expect_another({0, 0});
  int trial = 0;
  std::unique_ptr<Subscription> next;
  const std::function<void()> end_another = [&] {
    fixture.writer.expect_another({++trial, 0});
    next = fixture.loop.after(5ms, end_another);
  };
  end_another();
  CHECK(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == 1; }));
}

TEST_CASE("a disk that hangs has what another trial prints waited for, and what lies behind it") {
  Fixture fixture;
  const auto write = [&](const std::string& bytes, AttemptId of) {
    fixture.writer.write({0, OutputStream::out, 0, bytes, 0, of});
  };
  write("hangs", {1, 3});
  write("runs", {2, 0});
  write("ended", {1, 3});
  fixture.writer.expect_another({1, 3});
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == 1; }));
  testing::run_for(fixture.loop, 100ms);
  CHECK(fixture.writer.written() == 1);
  fixture.sink->open();
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == 3; }));
  fixture.writer.finish();
  CHECK(fixture.sink->bytes() == "hangsrunsended");
}

TEST_CASE("the sink hears of the end of a trial in the order of the pieces, whatever was lost") {
  Fixture fixture;
  const auto write = [&](const std::string& bytes, AttemptId of) {
    fixture.writer.write({0, OutputStream::out, 0, bytes, 0, of});
  };
  write("hangs", {1, 0});
  write("waits", {1, 0});
  fixture.writer.end_trial(2);
  fixture.writer.expect_another({1, 0});
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == 1; }));
  write("next", {1, 1});
  fixture.writer.end_trial(1);
  fixture.sink->open();
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == 5; }));
  fixture.writer.finish();
  CHECK(fixture.sink->bytes() == "hangswaits<end of 2>next<end of 1>");
}

TEST_CASE("a disk that hangs while an attempt runs is waited for, whatever has ended before") {
  Fixture fixture;
  fixture.writer.expect_another({0, 0});
  fixture.writer.write({0, OutputStream::out, 0, "next", 0, {0, 1}});
  testing::run_for(fixture.loop, 150ms);
  CHECK(fixture.writer.written() == 0);
  fixture.sink->open();
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == 1; }));
  fixture.writer.finish();
  CHECK(fixture.sink->bytes() == "next");
}

TEST_CASE("what was written is synced after a while, and not before it counts as such") {
  Fixture fixture;
  fixture.sink->open();
  fixture.sink->stop_syncs();
  fixture.write("abc");
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == 1; }));
  fixture.write("de");
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == 2; }));
  CHECK(fixture.writer.synced() == 0);
  fixture.sink->open();
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.synced() == 2; }));
  CHECK(fixture.sink->synced() == "abcde");
  const int syncs = fixture.sink->syncs();
  int looks = 0;
  CHECK(testing::loop_until(fixture.loop, [&] { return ++looks == 60; }));
  CHECK(fixture.sink->syncs() == syncs);  // there is nothing to sync
}

TEST_CASE("a disk that is slow to sync does not stop writing; what came meanwhile is synced next") {
  Fixture fixture;
  fixture.sink->open();
  fixture.write("a");
  fixture.sink->stop_syncs();
  int looks = 0;
  REQUIRE(testing::loop_until(fixture.loop, [&] { return ++looks == 60; }));
  fixture.write("b");
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == 2; }));
  CHECK(fixture.writer.synced() == 0);
  fixture.sink->open();
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.synced() == 2; }));
  CHECK(fixture.sink->synced() == "ab");
}

TEST_CASE("a sync that fails is said once and tried again") {
  Fixture fixture(any_time);
  fixture.sink->open();
  fixture.sink->fail_syncs(3);
  fixture.write("a");
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.synced() == 1; }));
  CHECK(fixture.sink->syncs() == 4);
  REQUIRE(fixture.said.size() == 1);
  CHECK(fixture.said.front().find("cannot sync: too many open files") == 0);
}

TEST_CASE("what a disk has lost in a sync is said once, and not asked for again") {
  Fixture fixture(any_time);
  fixture.sink->open();
  for (int i = 1; i <= 2; ++i) {
    fixture.sink->lose_in_sync("cannot sync '/logs/rank-0.log': input/output error");
    fixture.write("a");
    REQUIRE(testing::loop_until(
        fixture.loop, [&] { return fixture.writer.synced() == static_cast<unsigned>(i); }));
    CHECK(fixture.sink->syncs() == i);
  }
  REQUIRE(fixture.said.size() == 1);
  CHECK(fixture.said.front().find("cannot sync '/logs/rank-0.log': input/output error: output ") ==
        0);
}

TEST_CASE("the end does not wait for a sync") {
  Fixture fixture(any_time);
  fixture.sink->open();
  fixture.sink->stop_syncs();
  fixture.write("a");
  fixture.writer.finish();
  CHECK(fixture.writer.written() == 1);
  CHECK(fixture.writer.synced() == 0);
  CHECK(fixture.said.empty());
}

TEST_CASE(
    "into logs that somebody else has taken over nothing is written, nor does it count as such") {
  Fixture fixture(any_time);
  fixture.sink->open();
  fixture.write("ours");
  REQUIRE(testing::loop_until(fixture.loop, [&] { return fixture.writer.written() == 1; }));
  fixture.may_write = false;
  // Nobody is asked for every piece.
  REQUIRE(testing::loop_until(fixture.loop, [&] {
    fixture.write("x");
    return fixture.refusals == 1;
  }));
  const std::string bytes = fixture.sink->bytes();
  const std::uint64_t written = fixture.writer.written();
  CHECK(written >= 1);
  fixture.may_write = true;
  fixture.write("late");
  fixture.writer.finish();
  CHECK(fixture.sink->bytes() == bytes);
  CHECK(fixture.writer.written() == written);
  CHECK(fixture.refusals == 1);
  CHECK(fixture.said.empty());
}
