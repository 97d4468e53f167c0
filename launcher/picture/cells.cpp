// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "config_schema/hosts/host_fold.hpp"
#include "launcher/picture/columns.hpp"
#include "launcher/plan/summaries.hpp"

namespace train {
namespace {

// Whether one more rank like those on the slot would fit; for a slot without ranks, whether it has
// any room.
bool has_room(const SlotRun& run) {
  if (run.rank_count == 0) return run.held < Quantity::of(1);
  const Quantity rest = Quantity::of(1) - run.taken;
  return run.held <= rest && (rest - run.held) * run.rank_count >= run.taken;
}

std::string holders_text(const SlotRun& run) {
  std::string text;
  for (const int holder : run.holders) {
    const std::string mark = holder_mark(holder);
    if (text.ends_with(mark)) continue;
    text += (text.empty() ? "" : "+") + mark;
  }
  return text;
}

std::string later_ranks_text(const PictureRow& row) {
  const int ranks = row.look.ranks;
  const auto hosts = static_cast<int>(row.hosts.size());
  if (!row.first_rank) return fmt::format("{} each", counted(fmt::format("{}", ranks), "rank"));
  const int first = *row.first_rank;
  if (hosts == 2) return fmt::format("then {}", rank_range(first + ranks, ranks));
  const std::string middle = hosts == 3 ? ", " : ", ..., ";
  return fmt::format("then {}{}{}", rank_range(first + ranks, ranks), middle,
                     rank_range(first + (hosts - 1) * ranks, ranks));
}

}  // namespace

std::string holder_mark(int holder) {
  return holder < marked_holders ? std::string(1, static_cast<char>('a' + holder)) : "#";
}

std::string rank_range(int first, int count) {
  return count == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, first + count - 1);
}

std::string cell_names(const SlotRun& run, std::optional<int> first_rank) {
  std::string text;
  if (run.rank_count > 0)
    text = first_rank ? rank_range(*first_rank + run.first_rank, run.rank_count) : "*";
  const std::string holders = holders_text(run);
  return text.empty() || holders.empty() ? text + holders : text + "+" + holders;
}

std::string cell_label(const SlotRun& run, std::optional<int> first_rank) {
  if (run.state == SlotState::free) return ".";
  if (run.state == SlotState::excluded) return "-";
  return cell_names(run, first_rank) + (has_room(run) ? "+." : "");
}

std::string row_label(const PictureRow& row, std::size_t columns) {
  if (row.is_rest) return shortened(fmt::format("{} more hosts", row.hosts.size()), columns);
  if (row.hosts.size() == 1) return shortened_inside(row.hosts.front(), columns);
  for (const std::size_t parts : {std::size_t{6}, std::size_t{3}, std::size_t{1}}) {
    std::string text = summarize_hosts(row.hosts, parts);
    if (count_columns(text) <= columns) return text;
  }
  const std::string more = fmt::format(" +{}", row.hosts.size() - 1);
  return shortened_inside(row.hosts.front(), columns - std::min(columns - 4, more.size())) + more;
}

std::vector<std::string> row_remarks(const PictureRow& row) {
  std::vector<std::string> remarks;
  if (row.is_rest) return remarks;
  if (row.hosts.size() > 1 && row.look.ranks > 0) remarks.push_back(later_ranks_text(row));
  remarks.insert(remarks.end(), row.look.note.begin(), row.look.note.end());
  return remarks;
}

namespace {

// Whether the ranks of the right run follow those of the left one, or share the last of their
// slots.
bool continues(const SlotRun& left, const SlotRun& right) {
  const int next = left.first_rank + left.rank_count;
  return left.state == SlotState::used && right.state == SlotState::used &&
         right.first_rank <= next && right.first_rank >= left.first_rank &&
         left.holders == right.holders;
}

}  // namespace

std::vector<SlotRun> coarse_runs(const HostLook& look, std::size_t most) {
  if (look.runs.size() <= most) return look.runs;
  std::vector<SlotRun> coarse;
  for (const SlotRun& run : look.runs) {
    if (coarse.empty() || !continues(coarse.back(), run)) {
      if (coarse.size() == most) return {};
      coarse.push_back(run);
      continue;
    }
    SlotRun& into = coarse.back();
    into.slots += run.slots;
    into.rank_count = run.first_rank + run.rank_count - into.first_rank;
    // The run has many ranks: their small unused shares are not shown.
    into.taken = Quantity::of(1);
  }
  return coarse;
}

std::vector<std::size_t> share_columns(const std::vector<SlotRun>& runs,
                                       const std::vector<std::size_t>& least, std::size_t room) {
  const std::size_t needed = std::accumulate(least.begin(), least.end(), std::size_t{0});
  if (runs.empty() || needed > room) return {};
  std::size_t slots = 0;
  for (const SlotRun& run : runs) slots += static_cast<std::size_t>(run.slots);
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < runs.size(); ++i)
    columns.push_back(std::max(least[i], room * static_cast<std::size_t>(runs[i].slots) / slots));
  // The extra columns of small runs are taken from the runs that can spare most.
  std::size_t taken = std::accumulate(columns.begin(), columns.end(), std::size_t{0});
  for (; taken > room; --taken) {
    std::size_t richest = 0;
    for (std::size_t i = 1; i < runs.size(); ++i)
      if (columns[i] - least[i] > columns[richest] - least[richest]) richest = i;
    --columns[richest];
  }
  return columns;
}

}  // namespace train
