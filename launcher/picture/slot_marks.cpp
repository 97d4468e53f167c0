// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/slot_marks.hpp"

#include <algorithm>

namespace train {
namespace {

constexpr Quantity whole = Quantity::of(1);

bool looks_like(const SlotRun& left, const SlotRun& right) {
  const bool is_one_rank = left.rank_count == 1 && left.first_rank == right.first_rank;
  return left.first_slot + left.slots == right.first_slot && left.state == right.state &&
         left.rank_count == right.rank_count && (left.rank_count == 0 || is_one_rank) &&
         left.taken == right.taken && left.held == right.held && left.holders == right.holders;
}

void append(std::vector<SlotRun>& runs, SlotRun run) {
  if (!runs.empty() && looks_like(runs.back(), run))
    runs.back().slots += run.slots;
  else
    runs.push_back(std::move(run));
}

// Appends the unused slots [begin, end); `left` are the slots that a filter left, empty without
// one.
void append_idle(std::vector<SlotRun>& runs, int begin, int end, const std::vector<int>& left) {
  if (left.empty()) {
    if (begin < end) append(runs, {.first_slot = begin, .slots = end - begin});
    return;
  }
  auto next = std::lower_bound(left.begin(), left.end(), begin);
  while (begin < end) {
    const bool is_free = next != left.end() && *next == begin;
    const int until = is_free ? begin + 1 : next == left.end() ? end : std::min(end, *next);
    append(runs, {.first_slot = begin,
                  .slots = until - begin,
                  .state = is_free ? SlotState::free : SlotState::excluded});
    if (is_free) ++next;
    begin = until;
  }
}

}  // namespace

void SlotMarks::use(int slot, int rank, Quantity share) {
  SlotRun& run = runs_[slot];
  if (run.rank_count == 0) run.first_rank = rank;
  run.first_slot = slot;
  run.state = SlotState::used;
  run.rank_count = rank - run.first_rank + 1;
  run.taken = std::min(whole, run.taken + share);
}

void SlotMarks::hold(int slot, Quantity share, int holder) {
  SlotRun& run = runs_[slot];
  run.first_slot = slot;
  if (run.rank_count == 0) run.state = SlotState::held;
  run.held = std::min(whole, run.held + std::min(whole, share));
  const auto place = std::lower_bound(run.holders.begin(), run.holders.end(), holder);
  if (place == run.holders.end() || *place != holder) run.holders.insert(place, holder);
}

std::vector<SlotRun> SlotMarks::take_runs(int slots, const std::vector<int>& left) {
  std::vector<SlotRun> runs;
  int next = 0;
  for (auto& [slot, run] : runs_) {
    if (slot >= slots) break;
    append_idle(runs, next, slot, left);
    append(runs, std::move(run));
    next = slot + 1;
  }
  append_idle(runs, next, slots, left);
  return runs;
}

int HolderIndex::index_of(const std::string& holder) {
  const auto [found, is_new] = indices_.try_emplace(holder, static_cast<int>(holders_.size()));
  if (is_new) holders_.push_back(holder);
  return found->second;
}

}  // namespace train
