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

Clock::duration time_of(const std::function<void()>& work) {
  const auto began = Clock::now();
  work();
  return Clock::now() - began;
}

}  // namespace

TEST_CASE("a launcher that lets go of its lock is noticed at once, before the wait or during it") {
  Scene scene;
  TaskWatch watch(scene.lock_file, "");
  const bool is_before = GENERATE(true, false);
  std::thread launcher;
  if (is_before)
    scene.let_go();
  else
    launcher = std::thread([&] {
      std::this_thread::sleep_for(50ms);
      scene.let_go();
    });
  CHECK(time_of([&] { watch.wait(5s, {}); }) < 1s);
  if (launcher.joinable()) launcher.join();
}

TEST_CASE("what is written into logs is noticed, and a new log") {
  Scene scene;
  std::ofstream log(scene.logs + "/rank-0.0.log");
  TaskWatch watch(scene.lock_file, scene.logs);
  log << "a" << std::flush;
  CHECK(time_of([&] { watch.wait(1900ms, {}); }) < 1s);
  std::ofstream(scene.logs + "/rank-0.0.index") << "b";
  CHECK(time_of([&] { watch.wait(1900ms, {}); }) < 1s);
  CHECK(time_of([&] { watch.wait(200ms, {}); }) >= 200ms);
}

TEST_CASE("where the kernel does not tell, the pauses between looks grow and are bounded") {
  TaskWatch watch("/nonexistent/lock", "/nonexistent/logs");
  CHECK(time_of([&] { watch.wait(5s, {}); }) < 80ms);
  const auto second = time_of([&] { watch.wait(5s, {}); });
  CHECK(second >= 100ms);
  CHECK(time_of([&] { watch.wait(300ms, {}); }) >= 200ms);
  CHECK(time_of([&] { watch.wait(300ms, {}); }) < 1s);
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
