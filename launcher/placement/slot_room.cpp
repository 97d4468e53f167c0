// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/slot_room.hpp"

#include <algorithm>

namespace train {

SlotRoom::SlotRoom(int slots) {
  for (int slot = 0; slot < slots; ++slot) rooms_.emplace_hint(rooms_.end(), Quantity::scale, slot);
}

SlotRoom::SlotRoom(const std::vector<Quantity>& free) {
  for (std::size_t slot = 0; slot < free.size(); ++slot)
    if (!free[slot].is_zero()) rooms_.emplace(free[slot].parts(), static_cast<int>(slot));
}

std::int64_t SlotRoom::count(Quantity quantity) const {
  if (quantity > Quantity::of(1) && !quantity.is_whole()) return 0;
  std::int64_t count = 0;
  std::int64_t whole = 0;
  for (const auto& [room, slot] : rooms_) {
    count += room / quantity.parts();
    whole += room == Quantity::scale ? 1 : 0;
  }
  return quantity < Quantity::of(1) ? count : whole / quantity.whole();
}

std::vector<int> SlotRoom::set_aside(Quantity quantity, Quantity each) {
  if (quantity.is_zero()) return {};
  if (quantity >= Quantity::of(1)) {
    if (!quantity.is_whole() || count(Quantity::of(1)) < quantity.whole()) return {};
    const auto first = std::prev(rooms_.end(), static_cast<std::ptrdiff_t>(quantity.whole()));
    std::vector<int> taken;
    for (auto slot = first; slot != rooms_.end(); ++slot) taken.push_back(slot->second);
    rooms_.erase(first, rooms_.end());
    return taken;
  }
  const auto served = [&](std::int64_t room) {
    if (each.is_zero()) return std::int64_t{0};
    return each < Quantity::of(1) ? room / each.parts()
                                  : static_cast<std::int64_t>(room == Quantity::scale);
  };
  auto best = rooms_.end();
  std::int64_t least = 0;
  for (auto slot = rooms_.lower_bound({quantity.parts(), 0}); slot != rooms_.end(); ++slot) {
    const std::int64_t cost = served(slot->first) - served(slot->first - quantity.parts());
    const bool is_better =
        best == rooms_.end() || cost < least || (cost == least && slot->first == best->first);
    if (is_better) best = slot, least = cost;
  }
  if (best == rooms_.end()) return {};
  const auto [room, slot] = *best;
  rooms_.erase(best);
  if (room > quantity.parts()) rooms_.emplace(room - quantity.parts(), slot);
  return {slot};
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
