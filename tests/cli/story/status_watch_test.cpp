// SPDX-License-Identifier: Apache-2.0
#include "cli/story/status_watch.hpp"

#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;
using Phase = LaunchStatus::Phase;
using Hosts = std::vector<std::pair<std::string, std::vector<std::string>>>;

namespace {

TaskRecord two_ranks() {
  TaskRecord task;
  task.world_size = 2;
  return task;
}

ControlStatus seen(const std::string& phase, const std::string& first, const std::string& second) {
  ControlStatus status;
  status.phase = phase;
  status.ranks_left = 2;
  status.hosts = {{"n1", first}, {"n2", second}};
  return status;
}

}  // namespace

TEST_CASE("phases follow from the states of hosts, and each has its time") {
  StatusWatch watch(1h);
  const TaskRecord task = two_ranks();
  const auto look = [&](const ControlStatus& status, Instant now) {
    const auto found = watch.look(status, task, now);
    REQUIRE(found);
    return *found;
  };
  LaunchStatus status = look(seen("running", "ready", "connecting"), 2h);
  CHECK(status.phase == Phase::starting);
  CHECK(status.elapsed == 1h);
  CHECK(status.hosts == Hosts{{"connecting", {"n2"}}, {"ready", {"n1"}}});
  status = look(seen("running", "running", "running"), 3h);
  CHECK(status.phase == Phase::running);
  CHECK(status.elapsed == 0ms);
  status = look(seen("running", "running", "out of reach: it refuses"), 4h);
  CHECK(status.phase == Phase::running);
  CHECK(status.elapsed == 1h);
  CHECK(status.hosts == Hosts{{"running", {"n1"}}, {"out of reach", {"n2"}}});
  status = look(seen("failing", "running", "finished"), 5h);
  CHECK(status.phase == Phase::stopping);
  CHECK(status.elapsed == 0ms);
  for (const char* phase : {"waiting", "over", "cancelled"})
    CHECK_FALSE(watch.look(seen(phase, "running", "running"), task, 6h));
  ControlStatus nowhere = seen("running", "", "");
  nowhere.hosts.clear();
  CHECK_FALSE(watch.look(nowhere, task, 6h));
}

TEST_CASE("cores are those between two reports of a host, and memory is that of now") {
  StatusWatch watch;
  ControlStatus status = seen("running", "running", "running");
  status.usage = {{0, {10s, 100, 200}}, {1, {0s, 50, 50}}};
  auto found = watch.look(status, two_ranks(), 100s);
  CHECK_FALSE(found->cpus);
  CHECK(found->memory == 150);
  status.usage = {{0, {16s, 300, 300}}, {1, {0s, 50, 50}}};
  CHECK(watch.look(status, two_ranks(), 104s)->cpus == 1.5);
  CHECK(watch.look(status, two_ranks(), 105s)->cpus == 1.5);  // no newer report
  status.usage = {{0, {17s, {}, 300}}, {1, {0s, 50, 50}}};    // it has ended
  found = watch.look(status, two_ranks(), 106s);
  CHECK_FALSE(found->cpus);
  CHECK(found->memory == 50);
}

TEST_CASE("GPUs in use are those of all ranks, and one that ranks share counts once") {
  StatusWatch watch;
  ControlStatus status = seen("running", "running", "running");
  TaskRecord task;
  task.world_size = 3;
  for (const auto& [host, slots] : {std::pair("n1", "0,1"), std::pair("n2", "0"), {"n2", "0"}}) {
    RankRecord& rank = task.ranks.emplace_back();
    rank.host = host;
    rank.slots = slots;
  }
  status.usage = {{0, {0s, 1, 1, 1'900, 1'000}}, {1, {0s, 1, 1}}, {2, {0s, 1, 1}}};
  auto found = watch.look(status, task, 100s);
  CHECK(found->gpus == 1.9);
  CHECK(found->slots_with_gpus == 2);
  CHECK(found->gpu_memory == 1'000);
  status.usage = {{0, {0s, 1, 1}}, {1, {0s, 1, 1, 250, 10}}, {2, {0s, 1, 1, 250, 10}}};
  found = watch.look(status, task, 101s);
  CHECK(found->gpus == 0.5);
  CHECK(found->slots_with_gpus == 1);
  CHECK(found->gpu_memory == 20);
  status.usage = {{0, {0s, 1, 1}}};
  found = watch.look(status, task, 102s);
  CHECK_FALSE(found->gpus);
  CHECK_FALSE(found->gpu_memory);
}
