// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/wide_host.hpp"

#include <algorithm>
#include <numeric>

namespace train {
namespace {

// Ranks that go on where those before them end, or share the last of their slots.
bool goes_on(const SlotRun& left, const SlotRun& right) {
  const int next = left.first_rank + left.rank_count;
  return left.state == SlotState::used && right.state == SlotState::used &&
         right.first_rank <= next && right.first_rank >= left.first_rank &&
         left.holders == right.holders;
}

}  // namespace

std::vector<SlotRun> coarse_runs(const HostLook& look, std::size_t most) {
  if (look.runs.size() <= most) return look.runs;
  std::vector<SlotRun> coarse;
  for (const SlotRun& run : look.runs) {
    if (coarse.empty() || !goes_on(coarse.back(), run)) {
      if (coarse.size() == most) return {};
      coarse.push_back(run);
      continue;
    }
    SlotRun& into = coarse.back();
    into.slots += run.slots;
    into.rank_count = run.first_rank + run.rank_count - into.first_rank;
    into.taken = Quantity::of(1);  // its ranks are many: what little room they leave is not shown
  }
  return coarse;
}

std::vector<std::size_t> share_columns(const std::vector<SlotRun>& runs,
                                       const std::vector<std::size_t>& least, std::size_t room) {
  const std::size_t needed = std::accumulate(least.begin(), least.end(), std::size_t{0});
  if (runs.empty() || needed > room) return {};
  std::size_t slots = 0;
  for (const SlotRun& run : runs) slots += static_cast<std::size_t>(run.slots);
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < runs.size(); ++i)
    columns.push_back(std::max(least[i], room * static_cast<std::size_t>(runs[i].slots) / slots));
  // What the small ones need beyond their share is taken from those that have most to give.
  std::size_t taken = std::accumulate(columns.begin(), columns.end(), std::size_t{0});
  for (; taken > room; --taken) {
    std::size_t richest = 0;
    for (std::size_t i = 1; i < runs.size(); ++i)
      if (columns[i] - least[i] > columns[richest] - least[richest]) richest = i;
    --columns[richest];
  }
  return columns;
}

}  // namespace train
