// SPDX-License-Identifier: Apache-2.0
#include "backends/observe/usage_watch.hpp"

#include <time.h>

#include <algorithm>

#include "backends/posix/timespec.hpp"

namespace train {

namespace {

constexpr std::chrono::seconds longest_usage_pause{5};
// The pause is at least this many times the CPU time of a look: a twentieth of a percent of a CPU.
// With idle ranks the whole agent may take a tenth of a percent.
constexpr int rest = 2'000;

nanoseconds cpu_of_this_thread() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return in_nanoseconds(time);
}

struct Look {
  std::vector<UsageOfRank> ranks;
  nanoseconds cost{0};
};

}  // namespace

void UsageWatch::watch(int rank, int pid) {
  rank_of_process_[pid] = rank;
  look_later();
}

void UsageWatch::look_later() {
  if (is_looking_ || next_look_ || rank_of_process_.empty()) return;
  next_look_ = loop_.after(std::max(pause_, least_pause_), [this] { look(); });
  pause_ = std::min<nanoseconds>(2 * pause_, longest_usage_pause);
}

void UsageWatch::look() {
  next_look_.reset();
  if (rank_of_process_.empty()) return;
  const auto found = std::make_shared<Look>();
  const auto work = [found, meter = meter_, ranks = rank_of_process_] {
    const nanoseconds before = cpu_of_this_thread();
    found->ranks = meter->look(ranks);
    found->cost = cpu_of_this_thread() - before;
  };
  const auto begun = background_.run(work, [this, found] {
    is_looking_ = false;
    least_pause_ = found->cost * rest;
    for (const UsageOfRank& each : found->ranks) measured_[each.rank] = each.usage;
    on_measured_(std::move(found->ranks));
    look_later();
  });
  is_looking_ = begun.has_value();
  if (!begun) look_later();  // no thread could be started
}

std::optional<RankUsage> UsageWatch::end(int rank, const ExitStatus& status) {
  std::erase_if(rank_of_process_, [rank](const auto& entry) { return entry.second == rank; });
  RankUsage usage;
  if (const auto measured = measured_.extract(rank); !measured.empty()) usage = measured.mapped();
  usage = usage.in_total();
  usage.cpu = std::max(usage.cpu, std::chrono::floor<milliseconds>(status.cpu));
  usage.memory_peak = std::max(usage.memory_peak, status.largest_memory);
  const bool is_known = usage.memory_peak > 0 || usage.cpu > milliseconds(0);
  return is_known ? std::optional(usage) : std::nullopt;
}

}  // namespace train
