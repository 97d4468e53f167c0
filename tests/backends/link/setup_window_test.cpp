// SPDX-License-Identifier: Apache-2.0
#include "backends/link/setup_window.hpp"

#include <map>
#include <string>
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

struct Fixture {
  explicit Fixture(int most, int most_at_a_server = SetupWindow::default_most_at_a_server)
      : window(std::make_shared<SetupWindow>(loop, most, most_at_a_server)) {}

  void enqueue(const std::string& way, const std::string& name,
               SetupWindow::Turn turn = SetupWindow::Turn::last) {
    window->enqueue(
        way,
        [this, name] {
          started.push_back(name);
          return true;
        },
        turn);
  }
  std::vector<std::string> started_now() {
    run_all(loop);
    return std::exchange(started, {});
  }

  Loop loop;
  std::shared_ptr<SetupWindow> window;
  std::vector<std::string> started;
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("so many set-ups are under way as the window allows, in order") {
  Fixture fixture(2);
  for (const char* name : {"0", "1", "2", "3", "4"})
    fixture.enqueue(std::string("way of ") + name, name);
  CHECK(fixture.started.empty());
  CHECK(fixture.started_now() == Names{"0", "1"});
  fixture.window->release("way of 1");
  CHECK(fixture.started_now() == Names{"2"});
}

TEST_CASE("a way has room for a few, and whoever waits for it holds up nobody else") {
  Fixture fixture(8, 2);
  for (const char* name : {"a1", "a2", "a3", "a4"}) fixture.enqueue("a", name);
  for (const char* name : {"b1", "b2"}) fixture.enqueue("b", name);
  CHECK(fixture.started_now() == Names{"a1", "a2", "b1", "b2"});
  fixture.window->release("b");
  CHECK(fixture.started_now().empty());
  fixture.window->release("a");
  CHECK(fixture.started_now() == Names{"a3"});
}

TEST_CASE("with room for all in turn, each way has its share") {
  Fixture fixture(3, 2);
  for (const char* name : {"a1", "a2", "a3"}) fixture.enqueue("a", name);
  fixture.enqueue("b", "b1");
  fixture.enqueue("a", "a4");
  fixture.enqueue("c", "c1");
  CHECK(fixture.started_now() == Names{"a1", "a2", "b1"});
  fixture.window->release("b");
  CHECK(fixture.started_now() == Names{"c1"});  // a3 came before it, but there is no room for it
  fixture.window->release("a");
  CHECK(fixture.started_now() == Names{"a3"});
}

TEST_CASE("whoever had its turn already comes first again") {
  Fixture fixture(1, 1);
  for (const char* name : {"a1", "a2"}) fixture.enqueue("a", name);
  fixture.enqueue("b", "b1");
  CHECK(fixture.started_now() == Names{"a1"});
  fixture.window->release("a");
  fixture.enqueue("a", "a1 again", SetupWindow::Turn::first);
  CHECK(fixture.started_now() == Names{"a1 again"});
  fixture.window->release("a");
  CHECK(fixture.started_now() == Names{"a2"});
  fixture.window->release("a");
  CHECK(fixture.started_now() == Names{"b1"});
}

TEST_CASE("a way that is overrun gets half as many, at least one") {
  Fixture fixture(100, 4);
  for (int i = 0; i < 8; ++i) fixture.enqueue("a", std::to_string(i));
  CHECK(fixture.started_now().size() == 4);
  fixture.window->overrun("a");
  fixture.window->release("a");
  fixture.window->release("a");
  CHECK(fixture.started_now().empty());
  fixture.window->release("a");
  CHECK(fixture.started_now() == Names{"4"});
  for (int i = 0; i < 3; ++i) fixture.window->overrun("a");
  fixture.window->release("a");
  CHECK(fixture.started_now().empty());
  fixture.window->release("a");
  CHECK(fixture.started_now() == Names{"5"});
  fixture.enqueue("b", "elsewhere");
  CHECK(fixture.started_now() == Names{"elsewhere"});
}

TEST_CASE("thousands on few ways all have their turn, never more at a time than there is room") {
  Fixture fixture(25, 3);
  int started = 0;
  int most = 0;
  std::map<std::string, int> under_way;
  for (int i = 0; i < 3000; ++i) {
    const std::string way = std::to_string(i % 11);
    fixture.window->enqueue(way, [&, way] {
      ++started;
      most = std::max(most, ++under_way[way]);
      fixture.loop.post([&, way] {
        --under_way[way];
        fixture.window->release(way);
      });
      return true;
    });
  }
  for (int i = 0; i < 3000 && started < 3000; ++i) run_all(fixture.loop);
  CHECK(started == 3000);
  CHECK(most == 3);
}

TEST_CASE("who gave up before its turn, or fails at once, takes no place") {
  Fixture fixture(1);
  fixture.window->enqueue("a", [] { return false; });
  fixture.window->enqueue("a", [&] {
    fixture.window->release("a");  // over before it returns
    return true;
  });
  fixture.enqueue("a", "last");
  CHECK(fixture.started_now() == Names{"last"});
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
