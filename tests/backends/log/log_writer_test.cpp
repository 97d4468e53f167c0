// SPDX-License-Identifier: Apache-2.0
#include "backends/log/log_writer.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

/// Writes nothing until it may, as a disk that does not answer.
class StalledSink final : public LogSink {
 public:
  Outcome append(const LogPiece& piece) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
    bytes_ += piece.bytes;
    return outcome_;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  std::string bytes() {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }
  void fail_with(Outcome outcome) { outcome_ = std::move(outcome); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  std::string bytes_;
  Outcome outcome_;
};

struct Fixture {
  Loop loop;
  std::shared_ptr<StalledSink> sink = std::make_shared<StalledSink>();
  std::vector<std::string> said;
  std::function<void()> on_written = [] {};
  LogWriter writer{
      loop,
      sink,
      "/logs",
      {[this] { on_written(); }, [this](const TerminalText& line) { said.push_back(line.text()); }},
      {.look = 5ms, .stall = 30ms, .last_stall = 60ms}};

  ~Fixture() { sink->open(); }  // its thread may still be there

  /// Runs the loop until the condition holds; false when it did not in 10 s.
  bool run_until(const std::function<bool()>& condition) {
    bool is_late = false;
    std::unique_ptr<Subscription> look;
    const auto limit = loop.after(10s, [&] {
      is_late = true;
      loop.stop();
    });
    const std::function<void()> check = [&] {
      if (condition()) return loop.stop();
      look = loop.after(1ms, check);
    };
    check();
    loop.run();
    return !is_late;
  }
  void write(const std::string& bytes) { writer.write({0, OutputStream::out, 0, bytes}); }
};

}  // namespace

TEST_CASE("pieces are written in their order, and counted when they are") {
  Fixture fixture;
  std::vector<std::uint64_t> counts;
  fixture.on_written = [&] { counts.push_back(fixture.writer.written()); };
  CHECK(fixture.writer.write({0, OutputStream::out, 0, "a"}) == 1);
  CHECK(fixture.writer.write({0, OutputStream::out, 0, "b"}) == 2);
  CHECK(fixture.writer.write({0, OutputStream::out, 0, "c"}) == 3);
  CHECK(fixture.writer.written() == 0);
  fixture.sink->open();
  CHECK(fixture.run_until([&] { return fixture.writer.written() == 3; }));
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
  REQUIRE(fixture.run_until([&] { return !fixture.said.empty(); }));
  CHECK(ticks > 3);
  CHECK(fixture.said.front().find("the log disk (/logs) has not answered for") == 0);
  fixture.write("b");
  CHECK(fixture.writer.written() == 0);
  fixture.sink->open();
  REQUIRE(fixture.run_until([&] { return fixture.writer.written() == 2; }));
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
  CHECK(fixture.run_until([&] { return was_told; }));
  CHECK(fixture.writer.written() == 1);
  CHECK(fixture.writer.write({0, OutputStream::out, 0, "late"}) == 2);
  CHECK(fixture.writer.written() == 2);
  fixture.writer.finish();
  CHECK(fixture.said.back() == "7 bytes of output are not in the logs (/logs)");
}

TEST_CASE("trouble with writing is said once, and what it cost at the end") {
  Fixture fixture;
  fixture.sink->fail_with({2, "cannot write '/logs/rank-0.0.log': no space left on device"});
  fixture.sink->open();
  for (int i = 0; i < 5; ++i) {
    fixture.write("xyz");
    REQUIRE(fixture.run_until([&] { return fixture.writer.written() == i + 1u; }));
  }
  CHECK(fixture.said ==
        std::vector<std::string>{"cannot write '/logs/rank-0.0.log': no space left on device"});
  fixture.writer.finish();
  CHECK(fixture.said.back() == "10 bytes of output are not in the logs (/logs)");
}
