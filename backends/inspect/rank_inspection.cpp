// SPDX-License-Identifier: Apache-2.0
#include "backends/inspect/rank_inspection.hpp"

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "backends/inspect/rank_states.hpp"
#include "backends/posix/timespec.hpp"

namespace train {

namespace {

constexpr std::chrono::seconds longest_look{5};
constexpr std::chrono::seconds stacks_patience{2};
constexpr std::chrono::seconds heartbeats_patience{2};

// Not negative, although the clock of a file server may be ahead of this machine's.
std::optional<std::chrono::milliseconds> age_of_newest(
    const std::map<int, std::string>& file_of_rank) {
  std::optional<nanoseconds> newest;
  for (const auto& [rank, path] : file_of_rank) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const nanoseconds modified = in_nanoseconds(status.st_mtim);
    newest = newest ? std::max(*newest, modified) : modified;
  }
  if (!newest) return std::nullopt;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const nanoseconds age = std::max(in_nanoseconds(now) - *newest, nanoseconds(0));
  return std::chrono::floor<std::chrono::milliseconds>(age);
}

std::vector<RankState> unknown_states(const std::map<int, int>& process_of_rank) {
  std::vector<RankState> states;
  for (const auto& [rank, pid] : process_of_rank) states.emplace_back().rank = rank;
  return states;
}

}  // namespace

void RankInspection::look(std::map<int, int> process_of_rank, std::string stacks_directory,
                          std::function<void(std::vector<RankState>)> done) {
  // Not the same object: a thread that is late still writes what it found.
  const auto found = std::make_shared<std::vector<RankState>>();
  auto unknown = unknown_states(process_of_rank);
  states_.run(
      [found, ranks = std::move(process_of_rank), directory = std::move(stacks_directory)] {
        *found = rank_states(ranks, directory, stacks_patience);
      },
      longest_look,
      [found, unknown = std::move(unknown), done = std::move(done)](bool is_done) {
        done(is_done ? *found : unknown);
      });
}

void RankInspection::look_at_heartbeats(
    std::map<int, std::string> file_of_rank,
    std::function<void(std::optional<std::chrono::milliseconds>)> done) {
  const auto age = std::make_shared<std::optional<std::chrono::milliseconds>>();
  heartbeats_.run(
      [age, files = std::move(file_of_rank)] { *age = age_of_newest(files); }, heartbeats_patience,
      [age, done = std::move(done)](bool is_done) { done(is_done ? *age : std::nullopt); });
}

}  // namespace train
