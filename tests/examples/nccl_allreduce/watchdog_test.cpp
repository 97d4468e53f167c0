// SPDX-License-Identifier: Apache-2.0
#include "examples/nccl_allreduce/watchdog.hpp"

#include <future>

#include "tests/catch.hpp"
#include "tests/support/waiting.hpp"

namespace nccl_allreduce {
namespace {

using namespace std::chrono_literals;

/// A watchdog, and what it has said.
struct Watched {
  std::promise<std::string> promise;
  std::future<std::string> late = promise.get_future();
  Watchdog watchdog{[this](const std::string& step) { promise.set_value(step); }};

  bool is_late() const { return late.wait_for(0s) == std::future_status::ready; }
};

TEST_CASE("a step that has taken too long is named", "[waits]") {
  Watched watched;
  watched.watchdog.begin("one that ends", 1h);
  watched.watchdog.begin("one that hangs", 1ms);
  REQUIRE(train::testing::eventually([&] { return watched.is_late(); }));
  CHECK(watched.late.get() == "one that hangs");
}

TEST_CASE("a step that follows takes the place of the one before", "[waits]") {
  Watched watched;
  watched.watchdog.begin("the first", train::testing::patience(300ms));
  watched.watchdog.begin("the second", 1h);
  CHECK(train::testing::stays([&] { return !watched.is_late(); }, train::testing::patience(450ms)));
}

TEST_CASE("a watchdog that has nothing to watch ends") {
  Watched watched;
  CHECK_FALSE(watched.is_late());
}

}  // namespace
}  // namespace nccl_allreduce
