// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/live_picture.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/lease/lease_words.hpp"
#include "launcher/picture/slot_marks.hpp"

namespace train {

namespace {

HostLook look_of(const LiveHost& host, HolderIndex& holders) {
  HostLook look{.slots = static_cast<int>(host.slots.slots.size()),
                .runs = {},
                .ranks = 0,
                .is_left_out = false,
                .note = live_notes(host)};
  SlotMarks marks;
  for (std::size_t slot = 0; slot < host.slots.slots.size(); ++slot)
    for (const SlotShare& share : host.slots.slots[slot])
      marks.hold(static_cast<int>(slot), share.amount,
                 holders.index_of(short_words_of(host.report->holders[share.holder])));
  look.runs = marks.take_runs(look.slots);
  return look;
}

}  // namespace

ClusterPicture draw_live(const std::vector<LiveHost>& hosts) {
  HolderIndex holders;
  std::vector<PictureRow> rows;
  rows.reserve(hosts.size());
  for (const LiveHost& host : hosts) {
    PictureRow row{.hosts = {host.host.name}, .look = look_of(host, holders), .first_rank = {}};
    row.figure =
        host.is_known() ? fmt::format("{}/{}", free_slots(host), host.slots.slots.size()) : "?";
    rows.push_back(std::move(row));
  }
  // All hosts are shown: a missing host would seem to be free.
  const std::size_t most = rows.size();
  return {fold_rows(rows, most), holders.take(), "FREE"};
}

}  // namespace train
