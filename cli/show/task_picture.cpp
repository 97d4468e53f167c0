// SPDX-License-Identifier: Apache-2.0
#include "cli/show/task_picture.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "config_schema/text/terminal_text.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/picture/slot_marks.hpp"

namespace train {

namespace {

constexpr Quantity whole = Quantity::of(1);

// The row of a host that has the ranks [first, end).
PictureRow row_of(const RankRecord* first, const RankRecord* end) {
  SlotMarks marks;
  std::set<int> slots;
  for (const RankRecord* rank = first; rank != end; ++rank)
    for (const std::string_view word : split(rank->slots, ','))
      if (const auto slot = whole_number(word, 0, std::numeric_limits<int>::max() - 1)) {
        marks.use(*slot, static_cast<int>(rank - first), whole);
        slots.insert(*slot);
      }
  HostLook look{.slots = 0,
                .runs = {},
                .ranks = static_cast<int>(end - first),
                .is_left_out = false,
                .note = {}};
  if (slots.empty()) {
    look.note.emplace_back("no slots");
  } else {
    look.slots = *slots.rbegin() + 1;
    look.runs = marks.take_runs(look.slots, {slots.begin(), slots.end()});
  }
  return {.hosts = {escaped(first->host)}, .look = std::move(look), .first_rank = first->rank};
}

}  // namespace

ClusterPicture draw_task(const std::vector<RankRecord>& ranks, std::size_t most_rows) {
  std::vector<PictureRow> rows;
  const RankRecord* end = ranks.data() + ranks.size();
  while (end != ranks.data() && (end - 1)->host.empty()) --end;
  for (const RankRecord* first = ranks.data(); first != end;) {
    const RankRecord* const next = std::find_if(
        first, end, [first](const RankRecord& rank) { return rank.host != first->host; });
    rows.push_back(row_of(first, next));
    first = next;
  }
  return {.rows = fold_rows(rows, most_rows), .left_out = "not of this task"};
}

}  // namespace train
