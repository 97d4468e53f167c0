// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/rank_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "launcher/picture/cells.hpp"
#include "launcher/picture/columns.hpp"
#include "launcher/plan/summaries.hpp"

namespace train {
namespace {

constexpr std::size_t column_count = 5;
using Columns = std::array<std::string, column_count>;
using Batch = std::pair<std::uint64_t, std::uint64_t>;  // smallest and largest of some ranks

// Consecutive ranks of one host.
struct RankGroup {
  int first_local = 0;
  int count = 1;
  std::vector<int> slots = {};
  std::optional<Batch> batch = {};

  bool operator==(const RankGroup&) const = default;
};

// Hosts whose ranks are grouped alike; the ranks of each follow those of the previous host.
struct HostBlock {
  int first_host = 0;
  int hosts = 1;
  int ranks = 0;  // ranks of each host
  std::vector<RankGroup> groups;
};

enum class Grouping { none, by_batch, by_host };

class RankTable {
 public:
  RankTable(const Trial& trial, std::size_t most_lines, std::size_t width)
      : trial_(trial),
        most_rows_(std::max<std::size_t>(most_lines, 6) - 1),
        widest_host_(width * 3 / 10),
        width_(width),
        are_gpus_(std::all_of(trial.hosts.begin(), trial.hosts.end(),
                              [](const PlannedHost& host) { return host.slots_are_gpus; })) {}

  std::string draw() {
    std::vector<HostBlock> blocks = fitting_blocks();
    std::vector<Columns> rows{{"RANK", "HOST", "LOCAL", slots_heading(), "BATCH"}};
    std::string rest;
    for (const HostBlock& block : blocks)
      for (std::size_t i = 0; i < block.groups.size(); ++i)
        if (rows.size() <= most_rows_) rows.push_back(row_of(block, i));
    const std::size_t all = count_rows(blocks);
    if (all > most_rows_) {
      rows.pop_back();
      const int shown = last_rank_shown(blocks, most_rows_ - 1);
      rest = fmt::format("... ranks {}-{} are not shown here; --json shows all\n", shown + 1,
                         trial_.world_size - 1);
    }
    return text_of(rows) + shortened(rest, width_);
  }

 private:
  std::vector<HostBlock> fitting_blocks() const {
    if (trial_.ranks.size() <= most_rows_) return blocks_by(Grouping::none);
    std::vector<HostBlock> blocks = blocks_by(Grouping::by_batch);
    if (count_rows(blocks) <= most_rows_) return blocks;
    std::vector<HostBlock> folded = folded_blocks(blocks);
    if (count_rows(folded) <= most_rows_) return folded;
    return folded_blocks(blocks_by(Grouping::by_host));
  }

  // TPUs, Neuron cores and Gaudis are not GPUs.
  const char* slots_heading() const {
    if (!are_gpus_) return "SLOTS";
    const bool are_others =
        std::any_of(trial_.hosts.begin(), trial_.hosts.end(), [](const PlannedHost& host) {
          const std::string& type = host.host.accelerator_type;
          return type.starts_with("TPU") || type.starts_with("aws-") || type == "Intel-GAUDI";
        });
    return are_others ? "DEVICES" : "GPUS";
  }

  static std::size_t count_rows(const std::vector<HostBlock>& blocks) {
    std::size_t rows = 0;
    for (const HostBlock& block : blocks) rows += block.groups.size();
    return rows;
  }

  int last_rank_shown(const std::vector<HostBlock>& blocks, std::size_t rows) const {
    int last = -1;
    for (const HostBlock& block : blocks)
      for (const RankGroup& group : block.groups) {
        if (rows-- == 0) return last;
        last = trial_.hosts[block.first_host].first_rank + group.first_local + group.count - 1 +
               (block.hosts - 1) * block.ranks;
      }
    return last;
  }

  std::vector<HostBlock> blocks_by(Grouping grouping) const {
    std::vector<HostBlock> blocks;
    blocks.reserve(trial_.hosts.size());
    for (std::size_t i = 0; i < trial_.hosts.size(); ++i)
      blocks.push_back({.first_host = static_cast<int>(i),
                        .ranks = trial_.hosts[i].rank_count,
                        .groups = groups_of(trial_.hosts[i], grouping)});
    return blocks;
  }

  std::vector<RankGroup> groups_of(const PlannedHost& host, Grouping grouping) const {
    std::vector<RankGroup> groups;
    for (int local = 0; local < host.rank_count; ++local) {
      const PlannedRank& rank = trial_.ranks[host.first_rank + local];
      const std::vector<int> slots = are_gpus_ ? devices_of(host.host, rank.slots) : rank.slots;
      std::optional<Batch> batch;
      if (rank.batch_size) batch = Batch(*rank.batch_size, *rank.batch_size);
      const bool is_new = groups.empty() || grouping == Grouping::none ||
                          (grouping == Grouping::by_batch && groups.back().batch != batch);
      if (is_new) {
        groups.push_back({.first_local = local, .slots = slots, .batch = batch});
        continue;
      }
      RankGroup& into = groups.back();
      ++into.count;
      for (const int slot : slots)  // ranks that share a slot are consecutive
        if (into.slots.empty() || into.slots.back() != slot) into.slots.push_back(slot);
      if (batch) {
        into.batch->first = std::min(into.batch->first, batch->first);
        into.batch->second = std::max(into.batch->second, batch->second);
      }
    }
    return groups;
  }

  static std::vector<HostBlock> folded_blocks(const std::vector<HostBlock>& blocks) {
    std::vector<HostBlock> folded;
    for (const HostBlock& block : blocks)
      if (!folded.empty() && folded.back().groups == block.groups)
        ++folded.back().hosts;
      else
        folded.push_back(block);
    return folded;
  }

  std::string hosts_text(const HostBlock& block) const {
    PictureRow row{.hosts = {}, .look = {}, .first_rank = {}};
    for (int i = 0; i < block.hosts; ++i)
      row.hosts.push_back(trial_.hosts[block.first_host + i].host.name);
    return row_label(row, widest_host_);
  }

  std::string ranks_text(const HostBlock& block, const RankGroup& group) const {
    const int first = trial_.hosts[block.first_host].first_rank + group.first_local;
    if (block.hosts == 1) return rank_range(first, group.count);
    if (block.groups.size() == 1) return rank_range(first, block.ranks * block.hosts);
    const std::string begin = fmt::format("{},{}", rank_range(first, group.count),
                                          rank_range(first + block.ranks, group.count));
    return block.hosts == 2 ? begin : begin + ",...";
  }

  Columns row_of(const HostBlock& block, std::size_t index) const {
    const RankGroup& group = block.groups[index];
    constexpr std::size_t widest_slots = 16;
    const bool is_one = block.hosts == 1 && group.count == 1;
    std::string batch = "-";
    if (group.batch) {
      const auto [least, most] = *group.batch;
      batch = least == most ? fmt::format("{}", least) : fmt::format("{}-{}", least, most);
      if (!is_one) batch += " each";
    }
    return {ranks_text(block, group), hosts_text(block), rank_range(group.first_local, group.count),
            group.slots.empty() ? "-" : shortened(fold_ranks(group.slots), widest_slots),
            std::move(batch)};
  }

  static std::string text_of(const std::vector<Columns>& rows) {
    std::array<std::size_t, column_count> widths{};
    for (const Columns& row : rows)
      for (std::size_t i = 0; i < row.size(); ++i)
        widths[i] = std::max(widths[i], count_columns(row[i]));
    std::string text;
    for (const Columns& row : rows) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i)
        line += (i == 0 ? "" : "  ") + padded(row[i], widths[i]);
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    return text;
  }

  const Trial& trial_;
  std::size_t most_rows_;  // without the heading
  std::size_t widest_host_;
  std::size_t width_;
  bool are_gpus_;
};

}  // namespace

std::string ranks_to_text(const Trial& trial, std::size_t most_lines, std::size_t width) {
  return RankTable(trial, most_lines, std::max<std::size_t>(width, 40)).draw();
}

}  // namespace train
