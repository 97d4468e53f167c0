// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace train {

/// Gives places on hosts to workers of several kinds, one place after the other, and moves workers
/// that have one where that makes room for another. A place is refused only when no way of giving
/// out those that were taken before would let it be used: places taken in order of preference are
/// the best that can be (they are the independent sets of a transversal matroid).
class KindMatching {
 public:
  explicit KindMatching(std::vector<int> workers_of_kind);

  /// Takes a place that serves the kinds of this mask. Once it says no for a mask, it always will.
  bool take(std::uint64_t kinds);
  /// All workers have a place.
  bool is_done() const { return left_ == 0; }

 private:
  bool augment(std::uint64_t kinds);

  std::vector<int> missing_;  // workers of each kind without a place
  int left_ = 0;
  std::map<std::uint64_t, std::vector<int>> given_;  // places of each mask, by the kind they serve
};

}  // namespace train
