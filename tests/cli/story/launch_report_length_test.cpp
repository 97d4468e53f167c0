// SPDX-License-Identifier: Apache-2.0
#include "cli/story/launch_report.hpp"

#include <algorithm>
#include <csignal>

#include "tests/catch.hpp"

using namespace train;

namespace {

Failure failure_of(int rank) {
  return {{Instant(rank), nanoseconds(0)},
          make_error(ErrorClass::worker, "rank " + std::to_string(rank) + " exited with code 3"),
          rank,
          0,
          3};
}

// Every rank of one host failed with code 3, the first `at_once` of the others with the cause.
struct AllFailed {
  AllFailed(int ranks, int at_once) {
    trial.hosts.resize(1);
    trial.hosts[0].host.name = "node01";
    outcome.ranks.resize(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      outcome.ranks[rank].state = RankOutcome::State::failed;
      outcome.ranks[rank].code = 3;
      trial.ranks.emplace_back().rank = rank;
      task.ranks.emplace_back().rank = rank;
      if (rank > 0) outcome.others.push_back(failure_of(rank));
    }
    outcome.cause = failure_of(0);
    for (int i = 0; i < at_once; ++i) outcome.simultaneous.push_back(i);
  }
  std::string words() { return last_words(outcome, trial, output, task).text(); }

  Trial trial;
  RunOutcome outcome;
  TaskRecord task;
  Terminal terminal{[] {}};
  RankOutput output{terminal, Tee{}};
};

}  // namespace

TEST_CASE("thousands of failures are said in a few lines, the cause last") {
  const int at_once = GENERATE(0, 4'000, 7'999);
  AllFailed failed(8'000, at_once);
  const std::string words = failed.words();
  CHECK(std::count(words.begin(), words.end(), '\n') < 30);
  CHECK(words.ends_with("failed: worker: rank 0 exited with code 3 (exit 3)"));
  if (at_once > 0)
    CHECK(words.find("... and " + std::to_string(at_once - 8) + " more") != words.npos);
}

TEST_CASE("a few failures are said one by one") {
  AllFailed failed(4, 1);
  const std::string words = failed.words();
  CHECK(words.find("at the same moment, as far as the clocks tell: rank 1") != words.npos);
  CHECK(words.find("also: rank 2") != words.npos);
  CHECK(words.find("also: rank 3") != words.npos);
  CHECK(words.find("more") == words.npos);
}

TEST_CASE("a failed worker never yields 0") {
  AllFailed failed(1, 0);
  CHECK(exit_code_of(failed.outcome).value() == 3);
  failed.outcome.cause->exit_code = 128 + SIGKILL;
  CHECK(exit_code_of(failed.outcome).value() == 137);
  failed.outcome.cause->exit_code = 0;
  CHECK(exit_code_of(failed.outcome).value() == 1);
  failed.outcome.stop_signal = SIGINT;
  CHECK(exit_code_of(failed.outcome).value() == 130);
}
