// SPDX-License-Identifier: Apache-2.0
#include "backends/event_loop/background.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/catch.hpp"
#include "tests/support/loop_until.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

TEST_CASE("background work runs in order beside the loop and is answered from it") {
  Loop loop;
  Background background(loop);
  const auto order = std::make_shared<std::string>();
  const auto loops_thread = std::this_thread::get_id();
  std::thread::id works_thread;
  std::string answered;
  REQUIRE(background.run(
      [&works_thread, order] {
        works_thread = std::this_thread::get_id();
        *order += 'a';
      },
      [&] {
        CHECK(std::this_thread::get_id() == loops_thread);
        answered += '1';
      }));
  REQUIRE(background.run([order] { *order += 'b'; },
                         [&] {
                           answered += '2';
                           loop.stop();
                         }));
  REQUIRE(run_until_stopped(loop));
  CHECK(works_thread != loops_thread);
  CHECK(*order == "ab");
  CHECK(answered == "12");
}

TEST_CASE("work that hangs stops neither the loop nor the end of its owner, and says how long") {
  Loop loop;
  const auto release = std::make_shared<std::promise<void>>();
  auto background = std::make_unique<Background>(loop);
  const auto began = std::make_shared<std::promise<void>>();
  bool is_answered = false;
  CHECK_FALSE(background->busy_for());
  REQUIRE(background->run(
      [release, began] {
        began->set_value();
        release->get_future().wait();
      },
      [&] { is_answered = true; }));
  bool has_run = false;
  REQUIRE(background->run([&] { has_run = true; }, [&] { is_answered = true; }));
  began->get_future().wait();
  run_for(loop, 30ms);
  REQUIRE(background->busy_for());
  CHECK(*background->busy_for() >= 25ms);
  background.reset();
  release->set_value();
  run_for(loop, 20ms);
  CHECK_FALSE(is_answered);
  CHECK_FALSE(has_run);
}

TEST_CASE(
    "a thread that may go is gone after a moment without work, and comes again with the next") {
  Loop loop;
  const auto threads = [] {
    std::size_t count = 0;
    for (auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
      count += !entry.path().empty();
    return count;
  };
  const std::size_t before = settled(threads);
  Background background(loop, Background::Idle::goes);
  for (const int round : {1, 2}) {
    CAPTURE(round);
    const auto during = std::make_shared<std::size_t>(0);
    bool is_done = false;
    REQUIRE(background.run([during, threads] { *during = threads(); }, [&] { is_done = true; }));
    REQUIRE(loop_until(loop, [&] { return is_done; }));
    CHECK(*during == before + 1);
    CHECK(loop_until(loop, [&] { return threads() == before; }));
  }
}

TEST_CASE("background work at the limit of processes is an error, not an exception") {
  // Root has no such limit: the child becomes another user.
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit none{1, 1};
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(2);
    if (::setrlimit(RLIMIT_NPROC, &none) != 0) ::_exit(3);
    int code = 4;
    {
      Loop loop;
      Background background(loop);
      const auto refused = background.run([] {}, [] {});
      code = !refused && refused.error().error_class == ErrorClass::host ? 0 : 1;
    }
    ::_exit(code);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("what background work throws comes out of the loop, which goes on afterwards") {
  Loop loop;
  Background background(loop);
  bool is_done = false;
  REQUIRE(background.run([] { throw std::runtime_error("thrown"); }, [&] { is_done = true; }));
  CHECK_THROWS_WITH(run_until_stopped(loop), "thrown");
  CHECK_FALSE(is_done);
  REQUIRE(background.run([] {},
                         [&] {
                           is_done = true;
                           loop.stop();
                         }));
  CHECK(run_until_stopped(loop));
  CHECK(is_done);
}
