// SPDX-License-Identifier: Apache-2.0
#include "backends/link/setup_window.hpp"

#include <vector>

#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

void run_all(Loop& loop) {
  // What is posted now comes after all that was posted before.
  loop.post([&] { loop.post([&] { loop.stop(); }); });
  loop.run();
}

}  // namespace

TEST_CASE("so many set-ups are under way as the window allows, in order") {
  Loop loop;
  const auto window = std::make_shared<SetupWindow>(loop, 2);
  std::vector<int> started;
  for (int i = 0; i < 5; ++i)
    window->enqueue([&started, i] {
      started.push_back(i);
      return true;
    });
  CHECK(started.empty());
  run_all(loop);
  CHECK(started == std::vector{0, 1});
  window->release();
  run_all(loop);
  CHECK(started == std::vector{0, 1, 2});
}

TEST_CASE("who gave up before its turn, or fails at once, takes no place") {
  Loop loop;
  const auto window = std::make_shared<SetupWindow>(loop, 1);
  int started = 0;
  window->enqueue([] { return false; });
  window->enqueue([&] {
    window->release();  // over before it returns
    return true;
  });
  window->enqueue([&] { return ++started > 0; });
  run_all(loop);
  CHECK(started == 1);
}

TEST_CASE("pauses grow to a limit, and differ") {
  Loop loop;
  const auto window = std::make_shared<SetupWindow>(loop, 1);
  for (int tries = 1; tries < 20; ++tries) {
    const auto most = 100ms * (1 << std::min(tries - 1, 4));
    CHECK(window->pause(tries) >= most / 2);
    CHECK(window->pause(tries) <= most * 3 / 2);
  }
  CHECK(window->pause(3) != window->pause(3));
}
