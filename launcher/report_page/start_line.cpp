// SPDX-License-Identifier: Apache-2.0
#include "launcher/report_page/start_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config_schema/text/duration.hpp"

namespace train {

namespace {

constexpr std::size_t most_start_rows = 64;
constexpr std::size_t most_start_table_rows = 4'096;

// What a host does until it comes to a step.
struct Stage {
  StartStep until;
  TimeBar::Kind kind;
  std::string_view words;
};
constexpr std::array<Stage, start_steps> stages{
    {{StartStep::connected, TimeBar::Kind::connecting, "connecting"},
     {StartStep::logged_in, TimeBar::Kind::logging_in, "logging in"},
     {StartStep::agent_runs, TimeBar::Kind::agent, "starting the agent"},
     {StartStep::has_context, TimeBar::Kind::context, "taking the context"},
     {StartStep::is_ready, TimeBar::Kind::checking, "checks and leases"},
     {StartStep::told_to_start, TimeBar::Kind::queued, "waiting"},
     {StartStep::ranks_started, TimeBar::Kind::starting, "starting ranks"}}};

// How long each stage lasted; nothing: the host did not come to its end, or it is not known.
std::array<std::optional<std::int64_t>, start_steps> lengths_of(const HostStart& host) {
  std::array<std::optional<std::int64_t>, start_steps> lengths;
  std::int64_t before = 0;
  for (std::size_t i = 0; i < start_steps; ++i) {
    if (!host.at[i]) continue;
    lengths[i] = std::max<std::int64_t>(0, *host.at[i] - before);
    before = std::max(before, *host.at[i]);
  }
  return lengths;
}

// When the host was ready, which does not depend on others; the last that is known of it otherwise,
// and those come first.
std::int64_t slowness_of(const HostStart& host) {
  return host.when(StartStep::is_ready).value_or(std::int64_t{1} << 60);
}

}  // namespace

TimeLine start_line_of(const AttemptStart& start) {
  std::vector<const HostStart*> hosts;
  for (const HostStart& host : start.hosts) hosts.push_back(&host);
  TimeLine line;
  if (hosts.size() > most_start_rows) {
    std::stable_sort(hosts.begin(), hosts.end(), [](const HostStart* a, const HostStart* b) {
      return slowness_of(*a) > slowness_of(*b);
    });
    line.remark =
        fmt::format("The slowest {} of {} hosts are drawn.", most_start_rows, hosts.size());
    hosts.resize(most_start_rows);
  }
  for (const HostStart* host : hosts) {
    TimeRow row{.name = host->host, .bars = {}};
    const auto lengths = lengths_of(*host);
    std::int64_t at = start.begun;
    for (const Stage& stage : stages) {
      const auto length = lengths[static_cast<std::size_t>(stage.until)];
      if (!length) continue;
      row.bars.push_back({.kind = stage.kind,
                          .begin = at,
                          .end = at + *length,
                          .words = fmt::format("{}, {}", stage.words, format_duration(*length))});
      at += *length;
    }
    line.rows.push_back(std::move(row));
  }
  return line;
}

ReportTable start_table_of(const AttemptStart& start) {
  ReportTable table{.caption = "Seconds that each host took", .columns = {{"host"}}, .rows = {}};
  for (const Stage& stage : stages) table.columns.push_back({std::string(stage.words), true});
  for (const HostStart& host : start.hosts) {
    if (table.rows.size() == most_start_table_rows) break;
    std::vector<ReportCell> row{{host.host}};
    for (const auto& length : lengths_of(host)) {
      if (!length) {
        row.push_back({"-"});
        continue;
      }
      const double seconds = static_cast<double>(*length) / 1'000;
      row.push_back({fmt::format("{:.2f}", seconds), seconds});
    }
    table.rows.push_back(std::move(row));
  }
  if (table.rows.size() < start.hosts.size())
    table.remark = fmt::format("{} more are left out.", start.hosts.size() - table.rows.size());
  return table;
}

}  // namespace train
