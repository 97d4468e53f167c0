// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/selected_kinds.hpp"

#include <algorithm>
#include <deque>
#include <numeric>

namespace train {

KindMatching::KindMatching(std::vector<int> workers_of_kind)
    : missing_(std::move(workers_of_kind)),
      left_(std::accumulate(missing_.begin(), missing_.end(), 0)) {}

int KindMatching::take(std::uint64_t kinds, int places) {
  int taken = 0;
  while (taken < places) {
    const int more = augment(kinds, places - taken);
    if (more == 0) break;
    taken += more;
  }
  left_ -= taken;
  return taken;
}

// Breadth first from the kinds that the new places serve, over places that could serve another kind
// than they do, to a kind that lacks one.
int KindMatching::augment(std::uint64_t kinds, int places) {
  const auto count = missing_.size();
  std::vector<Step> reached(count);
  std::vector<bool> is_reached(count);
  std::deque<int> open;
  const auto reach = [&](std::uint64_t mask, int before) {
    for (std::size_t kind = 0; kind < count; ++kind) {
      if (is_reached[kind] || ((mask >> kind) & 1U) == 0) continue;
      is_reached[kind] = true;
      reached[kind] = {mask, before};
      open.push_back(static_cast<int>(kind));
    }
  };
  reach(kinds, -1);
  while (!open.empty()) {
    const int kind = open.front();
    open.pop_front();
    if (missing_[kind] > 0) return move_along(reached, kind, places);
    for (const auto& [mask, by_kind] : given_)
      if (by_kind[kind] > 0) reach(mask, kind);
  }
  return 0;
}

// Every place on the way to `kind` moves on by one kind, of as many as all steps allow.
int KindMatching::move_along(const std::vector<Step>& reached, int kind, int places) {
  int moved = std::min(places, missing_[kind]);
  for (Step step = reached[kind]; step.before >= 0; step = reached[step.before])
    moved = std::min(moved, given_[step.mask][step.before]);
  missing_[kind] -= moved;
  while (true) {
    const Step step = reached[kind];
    given_.try_emplace(step.mask, missing_.size()).first->second[kind] += moved;
    if (step.before < 0) return moved;
    given_[step.mask][step.before] -= moved;
    kind = step.before;
  }
}

}  // namespace train
