// SPDX-License-Identifier: Apache-2.0
#include "backends/observe/gpu_watch.hpp"

#include <fmt/format.h>

#include <fstream>
#include <string>

#include "backends/posix/proc.hpp"
#include "tests/catch.hpp"
#include "tests/support/loop_until.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

constexpr const char* busy_gpu =
    R"(echo '{"devices":[{"index":0,"busy":97,"memory_used":4096}]}'; )";

// A process of the shell stands in for train-devices.
struct Bench {
  Loop loop;
  std::string script = std::string(busy_gpu) + "exec sleep 1000";
  int started = 0;
  pid_t pid = -1;
  GpuWatch watch;

  explicit Bench(nanoseconds oldest_use = 10min)
      : watch(
            loop,
            [this](std::chrono::seconds) -> Result<std::optional<ConnectedProcess>> {
              ++started;
              auto process = start_connected({.program = "/bin/sh",
                                              .arguments = {"sh", "-c", script},
                                              .environment = environment_texts()});
              if (!process) return tl::make_unexpected(process.error());
              pid = process->pid;
              return std::move(*process);
            },
            oldest_use) {}

  bool is_there() const { return status_of(pid).has_value(); }
  bool until(const std::function<bool()>& condition) {
    return testing::loop_until(loop, condition);
  }
};

}  // namespace

TEST_CASE("what GPUs do is known from the first line on, and the process is gone with its reader") {
  Bench bench;
  auto reader = bench.watch.reader();
  REQUIRE(reader);
  CHECK(reader->uses().empty());
  REQUIRE(bench.until([&] { return !reader->uses().empty(); }));
  CHECK(reader->uses() == std::vector<GpuUse>{{0, 97, 4'096}});
  CHECK(bench.is_there());
  reader.reset();
  CHECK(bench.until([&] { return !bench.is_there(); }));
}

TEST_CASE("several readers have one process, and later ones another") {
  Bench bench;
  auto first = bench.watch.reader();
  auto second = bench.watch.reader();
  CHECK(first == second);
  CHECK(bench.started == 1);
  const pid_t pid = bench.pid;
  first.reset();
  REQUIRE(bench.until([&] { return !second->uses().empty(); }));
  CHECK(status_of(pid));
  second.reset();
  auto third = bench.watch.reader();
  CHECK(bench.started == 2);
  CHECK(bench.until([&] { return !status_of(pid); }));
}

TEST_CASE("of a process that has ended or written nonsense nothing is known any more") {
  for (const char* then :
       {"exit 0", "kill -9 $$", "echo rubbish; exec sleep 1000",
        R"(echo '{"devices":[{"index":0,"busy":101}]}'; exec sleep 1000)", "exec cat /dev/zero"}) {
    INFO(then);
    const testing::TemporaryFolder folder;
    Bench bench;
    bench.script = fmt::format("{}until [ -e {}/go ]; do sleep 0.01; done; {}", busy_gpu,
                               folder.path().string(), then);
    const auto reader = bench.watch.reader();
    REQUIRE(reader);
    REQUIRE(bench.until([&] { return !reader->uses().empty(); }));
    std::ofstream(folder.path() / "go").close();
    CHECK(bench.until([&] { return !reader->is_open(); }));
    CHECK(reader->uses().empty());
    CHECK(bench.until([&] { return !bench.is_there(); }));
    // The next attempt has another try.
    CHECK(bench.watch.reader()->is_open());
    CHECK(bench.started == 2);
  }
}

TEST_CASE("of a driver that hangs nothing is known after a while, and its process dies as usual") {
  Bench bench(50ms);
  auto reader = bench.watch.reader();
  REQUIRE(bench.until([&] { return !reader->uses().empty(); }));
  CHECK(bench.until([&] { return reader->uses().empty(); }));
  CHECK(reader->is_open());
  reader.reset();
  CHECK(bench.until([&] { return !bench.is_there(); }));
}

TEST_CASE("a library that writes errors does not wait for room") {
  Bench bench;
  bench.script = "head -c 1000000 /dev/zero >&2; " + bench.script;
  const auto reader = bench.watch.reader();
  CHECK(bench.until([&] { return !reader->uses().empty(); }));
}

TEST_CASE("where no process can be started, or there is no driver, nothing is known") {
  Loop loop;
  CHECK_FALSE(GpuWatch(loop, {}).reader());
  CHECK_FALSE(GpuWatch(loop, [](std::chrono::seconds) { return std::nullopt; }).reader());
  CHECK_FALSE(GpuWatch(loop, [](std::chrono::seconds) {
                return fail(ErrorClass::host, "nothing is executed from memory");
              }).reader());
}
