// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "config_schema/text/quantity.hpp"

namespace train {

/// The free slots of one host while workers are put on it. A slot is never given twice.
class SlotRoom {
 public:
  explicit SlotRoom(int slots);
  /// What is free of each slot; slot i has `free[i]`, at most 1.
  explicit SlotRoom(const std::vector<Quantity>& free);

  /// Takes whole slots, lowest index first, or a fraction of the slot with the least room left
  /// that still holds it (ties: lowest index). Returns the indices, ascending; none when it does
  /// not fit, or when nothing is asked for. Above one slot, only whole quantities fit.
  std::vector<int> take(Quantity quantity);

  /// How often `take(quantity)` would succeed; not for a quantity of 0.
  std::int64_t count(Quantity quantity) const;

  /// Takes `quantity` away where it costs the fewest later `take(each)`; of equally good slots,
  /// those with the least room, then the last ones. Returns the indices, ascending; none when it
  /// does not fit, or when nothing is asked for.
  std::vector<int> set_aside(Quantity quantity, Quantity each);

 private:
  std::set<std::pair<std::int64_t, int>> rooms_;  ///< (room left, slot), empty slots left out
};

}  // namespace train
