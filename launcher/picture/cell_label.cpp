// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/cell_label.hpp"

#include <fmt/format.h>

#include "config_schema/hosts/host_set.hpp"
#include "launcher/picture/columns.hpp"
#include "launcher/plan/summaries.hpp"

namespace train {
namespace {

constexpr int marked_holders = 26;

// Whether one more rank like those on the slot would fit; without one, whether anything would.
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

std::string how_ranks_go_on(const PictureRow& row) {
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
  if (row.hosts.size() > 1 && row.look.ranks > 0) remarks.push_back(how_ranks_go_on(row));
  remarks.insert(remarks.end(), row.look.note.begin(), row.look.note.end());
  return remarks;
}

}  // namespace train
