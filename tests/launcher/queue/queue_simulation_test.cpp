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

// Seeds from 1 on, or the one that is asked for; nothing where that is so.
std::optional<QueueWorld::Counts> play(Enemies enemies, std::uint64_t usual_seeds) {
  const auto only = number_from_environment("TRAIN_SEED");
  const std::uint64_t first = only.value_or(1);
  const std::uint64_t count =
      only ? 1 : number_from_environment("TRAIN_SEEDS").value_or(usual_seeds);
  QueueWorld::Counts seen;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    QueueWorld world(seed, enemies);
    world.play();
    for (const std::string& promise : world.broken_promises())
      FAIL_CHECK("TRAIN_SEED=" << seed << ": " << promise);
    seen += world.counts();
  }
  if (!only) return seen;
  SUCCEED("TRAIN_SEED=" << first << " was played");
  return std::nullopt;
}

}  // namespace

TEST_CASE("whoever waits is served in order, and nothing is given twice") {
  const auto seen = play(Enemies::none, 5'000);
  if (!seen) return;
  CHECK(seen->served > 0);
  CHECK(seen->gave_up > 0);
  CHECK(seen->stood_aside > 0);
  CHECK(seen->killed > 0);
  CHECK(seen->refused_newcomers > 0);
  CHECK(seen->refused_waiters > 0);
  CHECK(seen->lost_hosts > 0);
  CHECK(seen->stepped_behind > 0);
  CHECK(seen->turns_on_some > 0);
  CHECK(seen->passed > 0);
}

TEST_CASE(
    "hosts that lie, clocks that are wrong and users who cheat keep nobody waiting for ever") {
  const auto seen = play(Enemies::some, 5'000);
  if (!seen) return;
  CHECK(seen->served > 0);
  CHECK(seen->lies > 0);
  CHECK(seen->lies_that_hide > 0);
  CHECK(seen->late_clocks > 0);
  CHECK(seen->early_clocks > 0);
  CHECK(seen->orders_cut > 0);
  CHECK(seen->last_steps_behind > 0);
  CHECK(seen->strangers_first > 0);
  CHECK(seen->strangers_passed > 0);
}
