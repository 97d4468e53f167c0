// SPDX-License-Identifier: Apache-2.0
#include "backends/attempt/lease_queue.hpp"

#include "backends/visits/host_inspection.hpp"
#include "tests/catch.hpp"
#include "tests/support/loop_until.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;

namespace {

// Trials of one task, which want the same slot.
struct Bench {
  TemporaryDirectory folder;
  Loop loop;
  AgentMeans means = [this] {
    AgentMeans made;
    made.lease_folder = folder.path();
    return made;
  }();
  LeaseQueue queue{loop, "abcd2345-0", means};
  std::vector<std::string> answers;

  void take(int trial) {
    const auto prepare = std::make_shared<message::Prepare>();
    prepare->task_id = "abcd2345";
    prepare->of.trial = trial;
    prepare->leases.wants = {{{LeaseKey::Kind::place, 0, {}}, lease_units, lease_units}};
    queue.take(prepare, {}, answer("take"));
  }
  LeaseQueue::Then answer(const std::string& to) {
    return [this, to](const auto& blockers) {
      answers.push_back(to + (!blockers ? " failed" : blockers->empty() ? "" : " busy"));
    };
  }
  // All that was asked is done.
  void finish() {
    queue.retry_take(-1, [this](const auto&) { loop.stop(); });
    REQUIRE(testing::run_until_stopped(loop));
  }
  std::vector<LeaseHolder> holders() const { return inspect_host(means).holders; }
};

}  // namespace

TEST_CASE("what a trial lets go the next one holds, however soon it asks") {
  Bench bench;
  bench.take(0);
  for (int trial = 0; trial < 20; ++trial) {
    bench.queue.end(trial);
    bench.take(trial + 1);
  }
  bench.finish();
  CHECK(bench.answers == std::vector<std::string>(21, "take"));
  REQUIRE(bench.holders().size() == 1);
  CHECK(bench.holders().front().leases.size() == 1);
  // It holds it itself: nothing of it was lent by the one before.
  bench.queue.end(20);
  bench.finish();
  CHECK(bench.holders().empty());
}

TEST_CASE("what is let go while it is being taken is let go in the end") {
  Bench bench;
  bench.take(0);
  bench.queue.drop(0);
  bench.queue.retry_take(0, bench.answer("again"));
  SECTION("for good") { bench.queue.end(0); }
  SECTION("for others") { bench.queue.drop(0); }
  CHECK(bench.answers.empty());
  bench.finish();
  CHECK(bench.answers == std::vector<std::string>{"take", "again"});
  CHECK(bench.holders().empty());
}
