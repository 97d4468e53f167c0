// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/slot_room.hpp"

#include <algorithm>

namespace train {

SlotRoom::SlotRoom(int slots) {
  for (int slot = 0; slot < slots; ++slot) rooms_.emplace_hint(rooms_.end(), Quantity::scale, slot);
}

std::vector<int> SlotRoom::take(Quantity quantity) {
  std::vector<int> taken;
  if (quantity.is_zero()) return taken;
  if (quantity > Quantity::of(1) && !quantity.is_whole()) return taken;
  auto slot = rooms_.lower_bound({std::min(quantity.parts(), Quantity::scale), 0});
  if (quantity < Quantity::of(1)) {
    if (slot == rooms_.end()) return taken;
    const auto [room, index] = *slot;
    rooms_.erase(slot);
    if (room > quantity.parts()) rooms_.emplace(room - quantity.parts(), index);
    taken.push_back(index);
    return taken;
  }
  const std::int64_t count = quantity.whole();
  auto end = slot;
  for (std::int64_t i = 0; i < count; ++i, ++end) {
    if (end == rooms_.end()) return {};
    taken.push_back(end->second);
  }
  rooms_.erase(slot, end);
  return taken;
}

}  // namespace train
