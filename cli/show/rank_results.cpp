// SPDX-License-Identifier: Apache-2.0
#include "cli/show/rank_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "cli/show/task_table.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/text/duration.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "launcher/picture/cells.hpp"
#include "launcher/picture/columns.hpp"
#include "launcher/run/outcome.hpp"

namespace train {

namespace {

constexpr std::size_t column_count = 8;
constexpr std::size_t cpus_column = 3;  // shown if any rank is bound to CPUs
using Columns = std::array<std::string, column_count>;
// Numbers are right-aligned.
constexpr std::array<bool, column_count> is_number = {true, false, false, false,
                                                      true, true,  true,  false};

}  // namespace

std::string how_ended(const RankRecord& rank) {
  if (rank.host.empty()) return "not part of the last attempt";
  std::string text = "-";
  if (rank.exit_code) text = fmt::format("exit {}", *rank.exit_code);
  if (rank.signal) text = signal_name(*rank.signal);
  return rank.stopped ? text + " (stopped by train)" : text;
}

std::string memory_use_text(std::int64_t bytes) {
  constexpr double mib = 1u << 20;
  constexpr double gib = 1u << 30;
  const auto size = static_cast<double>(bytes);
  return size < gib ? fmt::format("{:.1f} MiB", size / mib) : fmt::format("{:.1f} GiB", size / gib);
}

namespace {

bool has_failed(const RankRecord& rank) {
  return !rank.stopped && (rank.signal || rank.exit_code.value_or(0) != 0);
}

// Neighbouring ranks in one row: [first, end).
struct RankRow {
  const RankRecord* first;
  const RankRecord* end;
  std::string ended;

  std::size_t size() const { return static_cast<std::size_t>(end - first); }
};

// The maximum of a figure over the ranks of the row, as text; "-" if none of them is known.
template <class Words>
std::string most_text(const RankRow& row, std::optional<std::int64_t> RankRecord::*figure,
                      Words words) {
  std::optional<std::int64_t> most;
  for (const RankRecord* rank = row.first; rank != row.end; ++rank) {
    const std::optional<std::int64_t>& value = rank->*figure;
    if (value) most = std::max(most.value_or(*value), *value);
  }
  if (!most) return "-";
  return (row.size() > 1 ? "<=" : "") + words(*most);
}

std::string hosts_text(const RankRow& row) {
  std::vector<std::string> hosts;
  for (const RankRecord* rank = row.first; rank != row.end; ++rank)
    if (hosts.empty() || hosts.back() != rank->host) hosts.push_back(rank->host);
  if (hosts.size() > 1) return escaped(summarize_hosts(hosts, 3));
  return hosts.front().empty() ? "-" : escaped(hosts.front());
}

std::string slots_text(const RankRow& row) {
  if (row.size() > 1) return "...";
  return row.first->slots.empty() ? "-" : row.first->slots;
}

// Shortens a long list.
std::string cpus_text(const RankRow& row) {
  constexpr std::size_t longest = 32;
  if (row.size() > 1) return "...";
  const std::string& cpus = row.first->cpus;
  if (cpus.size() > longest) return cpus.substr(0, cpus.rfind(',', longest - 4)) + ",...";
  return cpus.empty() ? "-" : cpus;
}

Columns columns_of(const RankRow& row) {
  return {rank_range(row.first->rank, static_cast<int>(row.size())),
          hosts_text(row),
          slots_text(row),
          cpus_text(row),
          most_text(row, &RankRecord::cpu_ms, format_duration),
          most_text(row, &RankRecord::memory, memory_use_text),
          most_text(row, &RankRecord::memory_peak, memory_use_text),
          row.ended};
}

std::vector<RankRow> one_each(const std::vector<RankRecord>& ranks) {
  std::vector<RankRow> rows;
  rows.reserve(ranks.size());
  for (const RankRecord& rank : ranks) rows.push_back({&rank, &rank + 1, how_ended(rank)});
  return rows;
}

// Merges neighbouring rows that ended alike; across hosts only with `over_hosts`.
std::vector<RankRow> folded(const std::vector<RankRow>& rows, bool over_hosts) {
  std::vector<RankRow> all;
  for (const RankRow& row : rows) {
    const bool continues = !all.empty() && all.back().end == row.first &&
                           all.back().ended == row.ended &&
                           (over_hosts || all.back().first->host == row.first->host);
    if (continues)
      all.back().end = row.end;
    else
      all.push_back(row);
  }
  return all;
}

std::string text_of(const std::vector<RankRow>& rows) {
  std::vector<Columns> lines = {
      {"RANK", "HOST", "SLOTS", "CPUS", "CPU", "MEMORY", "PEAK", "ENDED"}};
  bool is_any_bound = false;
  for (const RankRow& row : rows) {
    lines.push_back(columns_of(row));
    is_any_bound |=
        std::any_of(row.first, row.end, [](const RankRecord& rank) { return !rank.cpus.empty(); });
  }
  std::array<std::size_t, column_count> widths{};
  for (const Columns& line : lines)
    for (std::size_t i = 0; i < column_count; ++i)
      widths[i] = std::max(widths[i], count_columns(line[i]));
  std::string text;
  for (const Columns& line : lines) {
    std::string shown;
    for (std::size_t i = 0; i < column_count; ++i) {
      if (i == cpus_column && !is_any_bound) continue;
      const std::string cell =
          is_number[i] ? fmt::format("{:>{}}", line[i], widths[i]) : padded(line[i], widths[i]);
      shown += (i == 0 ? "" : "  ") + cell;
    }
    shown.erase(shown.find_last_not_of(' ') + 1);
    text += shown + "\n";
  }
  return text;
}

}  // namespace

const RankRecord* failed_rank(const std::vector<RankRecord>& ranks,
                              const std::vector<RecordedEvent>& events) {
  const auto named = std::find_if(events.rbegin(), events.rend(), [](const RecordedEvent& event) {
    return event.what == RecordedEvent::What::attempt_failing && event.rank;
  });
  if (named != events.rend())
    for (const RankRecord& rank : ranks)
      if (rank.rank == *named->rank && has_failed(rank)) return &rank;
  const auto found = std::find_if(ranks.begin(), ranks.end(), has_failed);
  return found == ranks.end() ? nullptr : &*found;
}

std::string rank_results_to_text(const std::vector<RankRecord>& ranks, std::size_t most_rows) {
  most_rows = std::max<std::size_t>(most_rows, 8);
  std::vector<RankRow> rows = one_each(ranks);
  if (rows.size() <= most_rows) return text_of(rows);
  // Failed ranks are picked first: each keeps its own row, up to half of the rows.
  std::vector<RankRow> shown;
  for (const RankRow& row : rows)
    if (has_failed(*row.first) && shown.size() < most_rows / 2) shown.push_back(row);
  std::erase_if(rows, [&](const RankRow& row) {
    return has_failed(*row.first) && !shown.empty() && row.first <= shown.back().first;
  });
  const std::size_t room = most_rows - shown.size();
  std::vector<RankRow> rest = folded(rows, false);
  if (rest.size() > room) rest = folded(rows, true);
  std::string more;
  if (rest.size() > room) {
    std::size_t left = 0;
    for (std::size_t i = room - 1; i < rest.size(); ++i) left += rest[i].size();
    rest.resize(room - 1);
    more = fmt::format("... and {} more ranks: --json has all\n", left);
  }
  shown.insert(shown.end(), rest.begin(), rest.end());
  return text_of(shown) + more;
}

}  // namespace train
