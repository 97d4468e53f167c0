// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/log_budget.hpp"

#include <map>

#include "tests/catch.hpp"

using namespace train;

namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t gib = kib * kib * kib;

/// A rank that prints so much, in segments of that size; what was removed, by rank.
std::map<int, std::vector<std::uint64_t>> print(LogBudget& budget, int rank, std::uint64_t segments,
                                                std::uint64_t segment) {
  std::map<int, std::vector<std::uint64_t>> removed;
  for (std::uint64_t i = 0; i < segments; ++i) {
    budget.add({rank, i * segment}, segment);
    while (const auto surplus = budget.take_surplus())
      removed[surplus->rank].push_back(surplus->begin);
  }
  return removed;
}

}  // namespace

TEST_CASE("without a limit, a task has 10 GiB or a tenth of what is free, whichever is less") {
  CHECK(log_limits({}, 1'000 * gib, 4).of_task == 10 * gib);
  CHECK(log_limits({}, 20 * gib, 4).of_task == 2 * gib);
  CHECK(log_limits({}, 1'000 * gib, 4).of_rank == UINT64_MAX);
  CHECK(log_limits({}, 0, 4).of_task == 0);
}

TEST_CASE("a limit is each rank's own, and never less than can be kept to") {
  CHECK(log_limits(gib, 20 * gib, 4).of_rank == gib);
  CHECK(log_limits(gib, 20 * gib, 4).of_task == UINT64_MAX);
  CHECK(log_limits(1, 20 * gib, 4).of_rank == least_log_limit);
}

TEST_CASE("segments are small enough to go and large enough to be few") {
  CHECK(log_limits({}, 1'000 * gib, 2).segment == 64 * kib * kib);
  CHECK(log_limits({}, 1'000 * gib, 4'096).segment == 10 * gib / 4'096 / 4);
  CHECK(log_limits(kib * kib, 0, 2).segment == 256 * kib);
  CHECK(log_limits(least_log_limit, 0, 2).segment == 4 * kib);
  CHECK(log_limits({}, 0, 0).segment == 4 * kib);
}

TEST_CASE("what is above a rank's limit goes, oldest first, and nothing else") {
  LogBudget budget({.of_rank = 400, .of_task = UINT64_MAX, .segment = 100}, 2);
  CHECK(print(budget, 0, 4, 100).empty());
  CHECK(print(budget, 1, 6, 100) == std::map<int, std::vector<std::uint64_t>>{{1, {0, 100}}});
}

TEST_CASE("above the limit of a task, the longest log gives way") {
  LogBudget budget({.of_rank = UINT64_MAX, .of_task = 1'000, .segment = 100}, 3);
  CHECK(print(budget, 2, 2, 100).empty());
  const auto removed = print(budget, 0, 20, 100);
  CHECK(removed.size() == 1);
  CHECK(removed.at(0).size() == 12);
  // Another that prints as much gets as much.
  const auto removed_later = print(budget, 1, 20, 100);
  CHECK(removed_later.count(2) == 0);
  CHECK(removed_later.at(0).size() == 4);
  CHECK(removed_later.at(1).size() == 16);
}

TEST_CASE("the segment that is written never goes") {
  LogBudget budget({.of_rank = 10, .of_task = 10, .segment = 100}, 2);
  CHECK(print(budget, 0, 1, 100).empty());
  budget.add({0, 0}, 1'000);
  CHECK_FALSE(budget.take_surplus());
  budget.add({1, 0}, 1'000);
  CHECK_FALSE(budget.take_surplus());
  budget.add({0, 1'100}, 5);
  CHECK(budget.take_surplus()->begin == 0);
  CHECK_FALSE(budget.take_surplus());
}
