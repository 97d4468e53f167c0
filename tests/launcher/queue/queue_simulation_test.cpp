// SPDX-License-Identifier: Apache-2.0
// Many tasks in one line, against seeded trouble. TRAIN_SEED=n plays one seed, TRAIN_SEEDS=n so
// many.
#include <cstdlib>

#include "tests/catch.hpp"
#include "tests/launcher/queue/queue_world.hpp"

using namespace train;
using namespace train::simulation;

namespace {

std::optional<std::uint64_t> number_from_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

}  // namespace

TEST_CASE("whoever waits is served in order, and nothing is given twice") {
  constexpr std::uint64_t usual_seeds = 5'000;
  const auto only = number_from_environment("TRAIN_SEED");
  const std::uint64_t first = only.value_or(1);
  const std::uint64_t count =
      only ? 1 : number_from_environment("TRAIN_SEEDS").value_or(usual_seeds);
  QueueWorld::Counts seen;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    QueueWorld world(seed);
    world.play();
    for (const std::string& promise : world.broken_promises())
      FAIL_CHECK("TRAIN_SEED=" << seed << ": " << promise);
    const QueueWorld::Counts& counts = world.counts();
    seen.served += counts.served;
    seen.gave_up += counts.gave_up;
    seen.killed += counts.killed;
    seen.refused_newcomers += counts.refused_newcomers;
    seen.refused_waiters += counts.refused_waiters;
    seen.lost_hosts += counts.lost_hosts;
    seen.stepped_behind += counts.stepped_behind;
    seen.stood_aside += counts.stood_aside;
  }
  if (only) {
    SUCCEED("TRAIN_SEED=" << first << " was played");
    return;
  }
  CHECK(seen.served > 0);
  CHECK(seen.gave_up > 0);
  CHECK(seen.stood_aside > 0);
  CHECK(seen.killed > 0);
  CHECK(seen.refused_newcomers > 0);
  CHECK(seen.refused_waiters > 0);
  CHECK(seen.lost_hosts > 0);
  CHECK(seen.stepped_behind > 0);
}
