// SPDX-License-Identifier: Apache-2.0
#include "backends/log/task_watch.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <thread>

#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

struct Scene {
  TemporaryDirectory directory;
  std::string lock_file = directory.path() + "/launcher.lock";
  std::string logs = directory.path() + "/logs";
  int lock = ::open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

  Scene() { std::filesystem::create_directory(logs); }
  ~Scene() {
    if (lock >= 0) ::close(lock);
  }
  void let_go() {
    ::close(lock);
    lock = -1;
  }
};

// Without being told, a wait that is not limited to less lasts this long: one that is shorter was
// ended by what happened.
constexpr auto untold_wait = 2s;

Clock::duration time_of(const std::function<void()>& work) {
  const auto began = Clock::now();
  work();
  return Clock::now() - began;
}

// Whether something is noticed that happens in `attempt`, which waits for it and says how long. A
// busy machine may hold up one of them.
bool is_noticed(const std::function<Clock::duration()>& attempt) {
  for (int tries = 0; tries < 5; ++tries)
    if (attempt() < untold_wait) return true;
  return false;
}

}  // namespace

TEST_CASE("a launcher that lets go of its lock is noticed at once, before the wait or during it") {
  const bool is_before = GENERATE(true, false);
  CHECK(is_noticed([&] {
    Scene scene;
    TaskWatch watch(scene.lock_file, "");
    std::thread launcher;
    if (is_before)
      scene.let_go();
    else
      launcher = std::thread([&] {
        std::this_thread::sleep_for(50ms);  // waits: mostly it has begun; it is noticed either way
        scene.let_go();
      });
    const auto waited = time_of([&] { watch.wait(5s, {}); });
    if (launcher.joinable()) launcher.join();
    return waited;
  }));
}

TEST_CASE("what is written into logs is noticed, and a new log") {
  Scene scene;
  std::ofstream log(scene.logs + "/rank-0.0.log");
  TaskWatch watch(scene.lock_file, scene.logs);
  CHECK(is_noticed([&] {
    log << "a" << std::flush;
    return time_of([&] { watch.wait(5s, {}); });
  }));
  int files = 0;
  CHECK(is_noticed([&] {
    std::ofstream(scene.logs + "/rank-" + std::to_string(files++) + ".0.index") << "b";
    return time_of([&] { watch.wait(5s, {}); });
  }));
  CHECK(time_of([&] { watch.wait(200ms, {}); }) >= 200ms);
}

TEST_CASE("where the kernel does not tell, the pauses between looks grow and are bounded") {
  TaskWatch watch("/nonexistent/lock", "/nonexistent/logs");
  for (const auto pause : {50ms, 100ms, 200ms}) {
    const auto waited = time_of([&] { watch.wait(100s, {}); });
    CHECK(waited >= pause);
    CHECK(waited < 100s);  // which it would wait for without pauses
  }
  for (int looks = 0; looks < 10; ++looks) watch.wait(1ms, {});
  // Unbounded, the pause would be 409 s by now.
  const auto waited = time_of([&] { watch.wait(100s, {}); });
  CHECK(waited >= untold_wait);
  CHECK(waited < 100s);
}

TEST_CASE("another descriptor ends the wait, and is told apart") {
  Scene scene;
  TaskWatch watch(scene.lock_file, "");
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  CHECK_FALSE(watch.wait(10ms, {ends[0]}));
  REQUIRE(::write(ends[1], "x", 1) == 1);
  CHECK(watch.wait(1s, {ends[0]}));
  CHECK_FALSE(watch.wait(10ms, {ends[1], false}));
  ::close(ends[0]);
  CHECK(watch.wait(1s, {ends[1], false}));
  ::close(ends[1]);
}
