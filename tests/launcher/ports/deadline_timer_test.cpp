// SPDX-License-Identifier: Apache-2.0
#include "launcher/ports/deadline_timer.hpp"

#include <vector>

#include "tests/catch.hpp"
#include "tests/launcher/simulation/virtual_time.hpp"

namespace train {
namespace {

using namespace std::chrono_literals;

/// Counts the timers that are asked for.
class CountedTimers final : public Timers {
 public:
  explicit CountedTimers(simulation::VirtualTime& time) : timers_(time) {}
  Instant now() const override { return timers_.now(); }
  void post(std::function<void()> callback) override { timers_.post(std::move(callback)); }
  std::unique_ptr<Subscription> after(nanoseconds delay, std::function<void()> callback) override {
    ++made;
    return timers_.after(delay, std::move(callback));
  }
  int made = 0;

 private:
  simulation::FakeTimers timers_;
};

struct Bench {
  simulation::VirtualTime time;
  CountedTimers timers{time};
  std::vector<Instant> calls;
  DeadlineTimer timer{timers, [this] { calls.push_back(time.now()); }};

  void run() {
    while (time.step()) continue;
  }
};

TEST_CASE("a deadline timer calls back at the deadline, once") {
  Bench bench;
  bench.timer.set(3s);
  bench.run();
  CHECK(bench.calls == std::vector<Instant>{3s});
}

TEST_CASE("a deadline that has passed is told at once") {
  Bench bench;
  bench.time.at(5s, [&] { bench.timer.set(3s); });
  bench.run();
  CHECK(bench.calls == std::vector<Instant>{5s});
}

TEST_CASE("a later deadline keeps the timer that there is") {
  Bench bench;
  for (Instant deadline = 1s; deadline <= 100s; deadline += 1s) bench.timer.set(deadline);
  CHECK(bench.timers.made == 1);
  bench.run();
  CHECK(bench.calls == std::vector<Instant>{1s});
  bench.timer.set(100s);
  bench.run();
  CHECK(bench.calls == std::vector<Instant>{1s, 100s});
}

TEST_CASE("an earlier deadline comes early") {
  Bench bench;
  bench.timer.set(10s);
  bench.timer.set(2s);
  bench.run();
  CHECK(bench.calls == std::vector<Instant>{2s});
}

TEST_CASE("without a deadline nobody is called") {
  Bench bench;
  bench.timer.set(10s);
  bench.timer.set(std::nullopt);
  bench.run();
  CHECK(bench.calls.empty());
}

TEST_CASE("the callback may set the next deadline") {
  simulation::VirtualTime time;
  simulation::FakeTimers timers(time);
  std::vector<Instant> calls;
  std::unique_ptr<DeadlineTimer> timer;
  timer = std::make_unique<DeadlineTimer>(timers, [&] {
    calls.push_back(time.now());
    if (calls.size() < 3) return timer->set(time.now() + 1s);
    timer.reset();
  });
  timer->set(1s);
  while (time.step()) continue;
  CHECK(calls == std::vector<Instant>{1s, 2s, 3s});
}

}  // namespace
}  // namespace train
