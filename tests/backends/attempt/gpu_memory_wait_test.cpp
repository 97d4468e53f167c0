// SPDX-License-Identifier: Apache-2.0
#include "backends/attempt/gpu_memory_wait.hpp"

#include <atomic>

#include "tests/catch.hpp"
#include "tests/contains.hpp"
#include "tests/support/loop_until.hpp"

using namespace train;
using namespace std::chrono_literals;
using train::testing::contains;

namespace {

constexpr milliseconds long_time = 10min;

// A GPU of 40 GiB whose memory becomes free after it was asked for some times.
struct Bench {
  Loop loop;
  std::atomic<int> asked = 0;
  std::atomic<int> free_from = 1;  // the number of the question
  std::atomic<bool> answers = true;
  std::optional<std::optional<Error>> end;
  GpuMemoryWait wait{loop, [this]() -> Result<DeviceReport> {
                       if (!answers) return fail(ErrorClass::host, "no answer");
                       DeviceFacts gpu;
                       gpu.uuid = "GPU-a";
                       gpu.memory_total = std::uint64_t{40} << 30;
                       gpu.memory_used = ++asked < free_from ? std::uint64_t{3} << 30 : 0;
                       return DeviceReport{.devices = {gpu}};
                     }};

  void begin(milliseconds limit, const std::vector<std::string>& gpus = {"GPU-a"}) {
    wait.begin(
        {.limit = limit}, [gpus] { return gpus; },
        [this](const std::optional<Error>& still_in_use) { end = still_in_use; });
    CHECK_FALSE(end);
  }
  void run() {
    REQUIRE(testing::loop_until(loop, [this] { return end.has_value(); }));
  }
};

}  // namespace

TEST_CASE("memory that is free is not waited for") {
  Bench bench;
  bench.begin(long_time);
  bench.run();
  CHECK_FALSE(*bench.end);
  CHECK(bench.asked == 1);
  CHECK_FALSE(bench.wait.current());
}

TEST_CASE("memory is waited for until it is free") {
  Bench bench;
  bench.free_from = 3;
  bench.begin(long_time);
  REQUIRE(testing::loop_until(bench.loop, [&] { return bench.wait.current().has_value(); }));
  CHECK(bench.wait.current()->what == "3.0 of 40.0 GiB of GPU 0 are in use");
  bench.run();
  CHECK_FALSE(*bench.end);
  CHECK(bench.asked == 3);
}

TEST_CASE("memory that is still in use at the limit is an error with its numbers") {
  Bench bench;
  bench.free_from = INT32_MAX;
  bench.begin(400ms);
  bench.run();
  REQUIRE(*bench.end);
  CHECK((*bench.end)->error_class == ErrorClass::host);
  CHECK(contains(render(**bench.end), "the memory of its GPUs is not free after "));
  CHECK(contains(render(**bench.end), "s: 3.0 of 40.0 GiB of GPU 0 are in use\n"));
  CHECK(bench.asked >= 2);  // at the limit once more
}

TEST_CASE("GPUs of others, none at all, and a driver that does not answer are not waited for") {
  Bench bench;
  bench.free_from = INT32_MAX;
  bench.begin(long_time, {"GPU-b"});
  bench.run();
  CHECK_FALSE(*std::exchange(bench.end, std::nullopt));
  bench.begin(long_time, {});
  bench.run();
  CHECK_FALSE(*std::exchange(bench.end, std::nullopt));
  CHECK(bench.asked == 1);
  bench.answers = false;
  bench.begin(long_time);
  bench.run();
  CHECK_FALSE(*bench.end);
}

TEST_CASE("a wait is given up at once, and the next one begins anew") {
  Bench bench;
  bench.free_from = INT32_MAX;
  bench.begin(long_time);
  REQUIRE(testing::loop_until(bench.loop, [&] { return bench.wait.current().has_value(); }));
  bench.wait.give_up();
  REQUIRE(bench.end);
  CHECK_FALSE(*std::exchange(bench.end, std::nullopt));
  bench.wait.give_up();
  CHECK_FALSE(bench.end);
  bench.free_from = 1;
  bench.begin(long_time);
  bench.run();
  CHECK_FALSE(*bench.end);
}
