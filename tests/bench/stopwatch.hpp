// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the benchmarks of pure functions share: medians of repeated work.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <vector>

namespace train {

/// Ends the benchmark when what is timed did not work.
inline void require(bool is_so, const char* what) {
  if (is_so) return;
  fmt::print(stderr, "benchmark: {} failed\n", what);
  std::exit(1);
}

/// The rounds that the command line asks for; anything but one number of at least 5 ends the
/// benchmark.
inline int rounds_of(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  if (argc <= 2 && rounds >= 5) return rounds;
  fmt::print(stderr, "usage: {} [ROUNDS, at least 5]\n", argv[0]);
  std::exit(64);
}

/// Milliseconds.
struct Times {
  double median = 0;
  double least = 0;
  double most = 0;
};

/// Runs the work once to fill the caches, and then `rounds` times.
inline Times times_of(const std::function<void()>& work, int rounds) {
  using SteadyClock = std::chrono::steady_clock;
  work();
  std::vector<double> millis;
  for (int round = 0; round < rounds; ++round) {
    const auto begin = SteadyClock::now();
    work();
    millis.push_back(std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count());
  }
  std::sort(millis.begin(), millis.end());
  return {millis[millis.size() / 2], millis.front(), millis.back()};
}

}  // namespace train
