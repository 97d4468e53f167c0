// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/selected_kinds.hpp"

#include <deque>
#include <numeric>

namespace train {

KindMatching::KindMatching(std::vector<int> workers_of_kind)
    : missing_(std::move(workers_of_kind)),
      left_(std::accumulate(missing_.begin(), missing_.end(), 0)) {}

bool KindMatching::take(std::uint64_t kinds) {
  if (!augment(kinds)) return false;
  --left_;
  return true;
}

// Breadth first from the kinds that the new place serves, over places that could serve another
// kind than they do, to a kind that lacks one.
bool KindMatching::augment(std::uint64_t kinds) {
  struct Step {
    std::uint64_t mask = 0;  // the place that comes to serve this kind
    int before = -1;         // the kind that it served; -1: the new place
  };
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
    int kind = open.front();
    open.pop_front();
    if (missing_[kind] == 0) {
      for (const auto& [mask, by_kind] : given_)
        if (by_kind[kind] > 0) reach(mask, kind);
      continue;
    }
    --missing_[kind];
    while (true) {
      const Step step = reached[kind];
      given_.try_emplace(step.mask, count).first->second[kind] += 1;
      if (step.before < 0) return true;
      given_[step.mask][step.before] -= 1;
      kind = step.before;
    }
  }
  return false;
}

}  // namespace train
