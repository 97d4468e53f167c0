// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace train {

/// Gives places on hosts to workers of several kinds, and moves workers that have one where that
/// makes room for another. A place is refused only when no way of giving out those that were taken
/// before would let it be used: places taken in order of preference are the best that can be (they
/// are the independent sets of a transversal matroid).
class KindMatching {
 public:
  explicit KindMatching(std::vector<int> workers_of_kind);

  /// Takes as many places as can be used of `places` that serve the kinds of this mask, and says
  /// how many. Once it takes fewer than it is offered of a mask, it never takes another of it.
  int take(std::uint64_t kinds, int places = 1);
  /// All workers have a place.
  bool is_done() const { return left_ == 0; }
  /// Workers without a place.
  int left() const { return left_; }

 private:
  struct Step {
    std::uint64_t mask = 0;  // the place that comes to serve this kind
    int before = -1;         // the kind that it served; -1: a new place
  };
  int augment(std::uint64_t kinds, int places);
  int move_along(const std::vector<Step>& reached, int kind, int places);

  std::vector<int> missing_;  // workers of each kind without a place
  int left_ = 0;
  std::map<std::uint64_t, std::vector<int>> given_;  // places of each mask, by the kind they serve
};

}  // namespace train
