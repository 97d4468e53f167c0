// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "launcher/hosts_summary.hpp"
#include "launcher/placement/capacity.hpp"

namespace train {
namespace {

constexpr std::size_t most_hosts = 16;
constexpr std::size_t most_ranks = 64;
constexpr std::size_t shown_at_an_end = 4;
constexpr std::size_t widest_host = 24;

// Rows of a table; a row of one cell stands for rows left out.
using Row = std::vector<std::string>;

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string shortened(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  std::size_t end = 0;
  std::size_t columns = 0;
  while (end < text.size() && columns + 3 < width) {
    ++end;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    ++columns;
  }
  return text.substr(0, end) + "...";
}

class PlanText {
 public:
  PlanText(const Plan& plan, const TextOptions& options)
      : plan_(plan),
        trial_(plan.trial),
        color_(options.color),
        width_(static_cast<std::size_t>(std::max(40, options.width))) {}

  std::string render() {
    add_title();
    add_hosts();
    add_ranks();
    add_remarks("warning", plan_.warnings, "\x1b[33m");
    add_remarks("advice", plan_.advice, "\x1b[36m");
    return std::move(text_);
  }

 private:
  std::string painted(const std::string& text, const char* code) const {
    return color_ ? code + text + "\x1b[0m" : text;
  }

  // Breaks at spaces; lines after the first are indented.
  void add_wrapped(const std::string& line, const std::string& indent, const char* code) {
    std::string current;
    std::size_t begin = 0;
    while (begin < line.size()) {
      const std::size_t space = std::min(line.find(' ', begin), line.size());
      const std::string word = line.substr(begin, space - begin);
      const bool is_full = display_width(current) + 1 + display_width(word) > width_;
      if (is_full && current.size() > indent.size()) {
        text_ += painted(current, code) + "\n";
        current = indent;
      }
      if (!current.empty() && current != indent) current += ' ';
      current += shortened(word, width_ - indent.size());
      begin = space + 1;
    }
    text_ += painted(current, code) + "\n";
  }

  void add_title() {
    std::string title = fmt::format(
        "{}: {} on {}, {}", plan_.experiment.name.empty() ? "experiment" : plan_.experiment.name,
        counted(fmt::format("{}", trial_.world_size), "rank"),
        counted(fmt::format("{}", trial_.hosts.size()), "host"),
        counted(to_string(trial_.slots), "slot"));
    if (trial_.global_batch_size) {
      title += fmt::format(", global batch {}", *trial_.global_batch_size);
      if (trial_.batch_sum != trial_.global_batch_size)
        title += fmt::format(" ({} used)", *trial_.batch_sum);
      if (trial_.effective_batch_size != trial_.batch_sum)
        title += fmt::format(", effective {}", *trial_.effective_batch_size);
    }
    add_wrapped(title, "  ", "\x1b[1m");
  }

  // Slots of a host that may be used, used or not; unknown hosts have those that are used.
  int usable_slots(const PlannedHost& host) const {
    const SlotSupply supply = slot_supply(host.host, plan_.experiment.needs);
    if (supply.kind == SlotKind::beside) return 0;
    return static_cast<int>((supply.size.parts() + Quantity::scale - 1) / Quantity::scale);
  }

  // Ranks in each slot, "." where there is none, "-" where a filter left the slot out.
  Row cells_of(const PlannedHost& host) const {
    const std::vector<int>& left = host.host.slot_indices;
    const int all = left.empty() ? usable_slots(host) : train::slot_count(host.host).value_or(0);
    Row cells(static_cast<std::size_t>(std::max(all, 0)), left.empty() ? "." : "-");
    for (const int slot : left) cells[static_cast<std::size_t>(slot)] = ".";
    for (int i = 0; i < host.rank_count; ++i) {
      const PlannedRank& rank = trial_.ranks[host.first_rank + i];
      for (const int slot : rank.slots) {
        if (static_cast<std::size_t>(slot) >= cells.size()) continue;
        std::string& cell = cells[slot];
        cell = cell == "." ? fmt::format("{}", rank.rank) : fmt::format("{}+{}", cell, rank.rank);
      }
    }
    return cells;
  }

  static std::string rank_range(const PlannedHost& host) {
    if (host.rank_count == 1) return fmt::format("rank {}", host.first_rank);
    return fmt::format("ranks {}-{}", host.first_rank, host.first_rank + host.rank_count - 1);
  }

  // A map of the slots where it fits the line, else the same in words.
  std::string slots_text(const PlannedHost& host, std::size_t room) const {
    const int slots = usable_slots(host);
    if (slots > 0 && static_cast<std::size_t>(slots) * 2 <= room) {
      const Row cells = cells_of(host);
      std::size_t widest = 1;
      for (const std::string& cell : cells) widest = std::max(widest, cell.size());
      if (cells.size() * (widest + 1) <= room + 1) {
        std::string map;
        for (const std::string& cell : cells)
          map += fmt::format("{}{:>{}}", map.empty() ? "" : " ", cell, widest);
        return map;
      }
    }
    if (slots == 0) return rank_range(host) + " (CPU only)";
    return fmt::format("{} in {} of {}", rank_range(host), host.slots.size(),
                       counted(fmt::format("{}", slots), "slot"));
  }

  // Indices of `count` rows, the middle left out when there are more than `limit`.
  template <class Show, class Skip>
  static void fold(std::size_t count, std::size_t limit, Show show, Skip skip) {
    for (std::size_t i = 0; i < count; ++i) {
      if (count > limit && i == shown_at_an_end) {
        skip(count - 2 * shown_at_an_end);
        i = count - shown_at_an_end;
      }
      show(i);
    }
  }

  void add_hosts() {
    std::size_t widest = 4;
    std::vector<Row> rows;
    fold(
        trial_.hosts.size(), most_hosts,
        [&](std::size_t i) {
          rows.push_back({shortened(trial_.hosts[i].host.name, widest_host), fmt::format("{}", i)});
          widest = std::max(widest, display_width(rows.back()[0]));
        },
        [&](std::size_t left) { rows.push_back({fmt::format("... {} more hosts", left)}); });
    text_ += fmt::format("\n{}  {}\n", padded("HOST", widest), "RANKS IN ITS SLOTS");
    for (const Row& row : rows) {
      if (row.size() == 1) {
        text_ += row[0] + "\n";
        continue;
      }
      const PlannedHost& host = trial_.hosts[std::stoul(row[1])];
      text_ +=
          fmt::format("{}  {}\n", padded(row[0], widest), slots_text(host, width_ - widest - 2));
    }
  }

  static std::string padded(const std::string& text, std::size_t width) {
    return text + std::string(width - std::min(width, display_width(text)), ' ');
  }

  Row rank_row(const PlannedRank& rank) const {
    constexpr std::size_t widest_slots = 16;
    const std::string slots = fmt::format("{}", fmt::join(rank.slots, ","));
    const bool is_long = slots.size() > widest_slots && rank.slots.size() > 2;
    return {fmt::format("{}", rank.rank), shortened(trial_.hosts[rank.host].host.name, widest_host),
            fmt::format("{}", rank.local_rank),
            rank.slots.empty() ? "-"
            : is_long          ? fmt::format("{}..{} ({})", rank.slots.front(), rank.slots.back(),
                                             rank.slots.size())
                               : slots,
            rank.batch_size ? fmt::format("{}", *rank.batch_size) : "-"};
  }

  void add_ranks() {
    std::vector<Row> rows{{"RANK", "HOST", "LOCAL", "SLOTS", "BATCH"}};
    fold(
        trial_.ranks.size(), most_ranks,
        [&](std::size_t i) { rows.push_back(rank_row(trial_.ranks[i])); },
        [&](std::size_t left) { rows.push_back({fmt::format("... {} more ranks", left)}); });
    std::array<std::size_t, 5> widths{};
    for (const Row& row : rows)
      if (row.size() > 1)
        for (std::size_t i = 0; i < row.size(); ++i)
          widths[i] = std::max(widths[i], display_width(row[i]));
    text_ += "\n";
    for (const Row& row : rows) {
      std::string line = row[0];
      if (row.size() > 1) line = padded(row[0], widths[0]);
      for (std::size_t i = 1; i < row.size(); ++i) line += "  " + padded(row[i], widths[i]);
      line.erase(line.find_last_not_of(' ') + 1);
      text_ += line + "\n";
    }
  }

  void add_remarks(const char* kind, const std::vector<std::string>& remarks, const char* code) {
    if (!remarks.empty()) text_ += "\n";
    for (const std::string& remark : remarks)
      add_wrapped(fmt::format("{}: {}", kind, remark), "  ", code);
  }

  const Plan& plan_;
  const Trial& trial_;
  bool color_;
  std::size_t width_;
  std::string text_;
};

}  // namespace

std::string plan_to_text(const Plan& plan, const TextOptions& options) {
  return PlanText(plan, options).render();
}

}  // namespace train
