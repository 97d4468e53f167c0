// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/agent.hpp"

#include "tests/catch.hpp"
#include "tests/launcher/agent/agent_bench.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

constexpr RankUsage usage{3s, 10, 20};

struct UsageBench : Bench {
  void measure(std::vector<UsageOfRank> ranks, std::vector<GpuUse> gpus = {}) {
    on(agent_event::RanksMeasured{std::move(ranks), {}, std::move(gpus)});
    CHECK(last.empty());
  }
  /// What is told after a ping of a launcher that has all that was said before `heard`.
  std::vector<UsageOfRank> told(Instant heard) {
    now += 2s;
    ping(heard);
    const auto message = said<message::Usage>(last);
    return message ? message->ranks : std::vector<UsageOfRank>();
  }
};

}  // namespace

TEST_CASE("what ranks use is told behind the answer to a ping, and once") {
  UsageBench b;
  b.start({4, 5});
  CHECK(b.told({}).empty());
  b.measure({{4, usage}, {5, {}}});
  CHECK(b.told(b.now) == std::vector<UsageOfRank>{{4, usage}, {5, {}}});
  const auto messages = all<agent_action::SendMessage>(b.last);
  REQUIRE(messages.size() == 2);
  CHECK(std::holds_alternative<message::Pong>(messages[0].message));
  b.now += 2s;
  b.measure({{4, usage}, {5, {1s, 1, 1}}});
  CHECK(b.told(b.now) == std::vector<UsageOfRank>{{5, {1s, 1, 1}}});
}

TEST_CASE("where nothing arrives, no more than the newest of what ranks use waits") {
  UsageBench b;
  b.start({4});
  b.measure({{4, usage}});
  CHECK(b.told({}).size() == 1);
  const Instant told_at = b.now;
  for (int second = 4; second < 60; second += 2) {
    b.measure({{4, {std::chrono::seconds(second), 10, 20}}});
    CHECK(b.told(told_at).empty());  // the answer before it has arrived, and it may not have
  }
  CHECK(b.told(told_at + 2s) == std::vector<UsageOfRank>{{4, {58s, 10, 20}}});
}

TEST_CASE("of very many ranks what they use is told piece by piece") {
  UsageBench b;
  std::vector<int> ranks;
  std::vector<UsageOfRank> measured;
  for (int rank = 0; rank < static_cast<int>(most_usages) + 5; ++rank) {
    ranks.push_back(rank);
    measured.push_back({rank, usage});
  }
  b.start(ranks);
  b.measure(measured);
  CHECK(b.told({}).size() == most_usages);
  b.now += 2s;
  CHECK(b.told(b.now).size() == 5);
}

TEST_CASE("nothing is told of ranks that have not started, or have ended") {
  UsageBench b;
  b.make_ready({4, 5});
  b.say(message::Go{"10.0.0.1", 29'500});
  b.on(agent_event::RankStarted{5, 105});
  b.measure({{4, usage}, {5, usage}, {6, usage}});
  agent_event::RankEnded ended{5, 0, std::nullopt, false, b.now, {}};
  ended.usage = {9s, {}, 99};
  b.on(ended);
  CHECK(said<message::RankEnded>(b.last)->usage == ended.usage);
  CHECK(b.told({}).empty());
}

TEST_CASE("a launcher that has attached anew is told what ranks use, and have used") {
  UsageBench b;
  b.window = 60s;
  b.start({4, 5});
  b.measure({{4, usage}, {5, usage}});
  CHECK(b.told({}).size() == 2);
  agent_event::RankEnded ended{5, 0, std::nullopt, false, b.now, {}};
  ended.usage = {9s, {}, 99};
  b.on(ended);
  b.lose_link();
  b.measure({{4, {5s, 1, 20}}});
  b.connect();
  CHECK(said<message::RankEnded>(b.last)->usage == ended.usage);
  CHECK(b.told({}) == std::vector<UsageOfRank>{{4, {5s, 1, 20}}});
}

TEST_CASE("GPUs are watched where ranks have some, and their use is told with that of the ranks") {
  UsageBench b;
  b.connect();
  message::Prepare prepare{"taskid", {}, 1, {}, 7s, 0ms, 0ms};
  for (const int rank : {4, 5, 6}) prepare.ranks.push_back({rank, {"true", {}}, "/", {}});
  prepare.ranks[0].environment = {{"CUDA_VISIBLE_DEVICES", "2,3", AtLaunch::no, false},
                                  {"TRAIN_DEVICE_INDICES", "1", AtLaunch::no, false}};
  prepare.ranks[1].environment = {{"CUDA_VISIBLE_DEVICES", "0,1", AtLaunch::cuda_devices, false},
                                  {"TRAIN_DEVICE_INDICES", "0", AtLaunch::no, false}};
  b.say(prepare);
  agent_event::HostChecked checked{{}, {29'500}, "/tmp/run"};
  checked.gpus.cuda = {1, 2, 3};
  b.on(checked);
  message::Go go{"10.0.0.1", 29'500};
  go.slots = SlotMeaning::cuda;
  b.say(go);
  CHECK(has<agent_action::WatchGpus>(b.last));
  for (const int rank : {4, 5, 6}) b.on(agent_event::RankStarted{rank, 100 + rank});
  b.measure({{4, usage}, {5, usage}, {6, usage}}, {{1, 20, 1'000}, {2, 30, 2'000}, {3, {}, 3'000}});
  const auto told = b.told({});
  REQUIRE(told.size() == 3);
  CHECK_FALSE(told[0].usage.gpu);
  CHECK(told[0].usage.gpu_memory == 3'000);
  CHECK(told[1].usage.gpu == 200);
  CHECK(told[1].usage.gpu_memory == 1'000);
  CHECK(told[2].usage == usage);
  b.now += 2s;  // the driver answers no more
  b.measure({{4, usage}, {5, usage}, {6, usage}});
  CHECK(b.told(b.now) == std::vector<UsageOfRank>{{4, usage}, {5, usage}});
}

TEST_CASE("GPUs are not watched where no rank has any") {
  UsageBench b;
  b.make_ready({4});
  b.say(message::Go{"10.0.0.1", 29'500});
  CHECK_FALSE(has<agent_action::WatchGpus>(b.last));
}
