// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pages about tasks that were never run.

#include <fmt/format.h>

#include "launcher/report_page/start_line.hpp"
#include "launcher/report_page/task_report.hpp"
#include "launcher/report_page/usage_charts.hpp"
#include "tests/launcher/picture/some_charts.hpp"

namespace train {

inline ReportLog some_log(std::optional<int> trial, int rank, std::size_t lines) {
  ReportLog log{.trial = trial,
                .rank = rank,
                .host = fmt::format("node{:02}", rank / 8),
                .ended = "exit 0",
                .command = fmt::format("train task logs abcd2345 --rank {}", rank),
                .lines = {}};
  for (std::size_t i = 0; i < lines; ++i)
    log.lines.push_back(
        {.source = i % 5 == 4 ? ReportLine::Source::err : ReportLine::Source::out,
         .clock = "11-24 15:50:01",
         .text = fmt::format("step {} of rank {}: loss {:.4f}", i, rank, 1.0 / (1.0 + double(i)))});
  return log;
}

/// What the ranks of a task used for half an hour.
inline std::vector<MetricChart> some_usage(int ranks) {
  TaskRecord task;
  task.world_size = ranks;
  std::vector<UsageSample> samples;
  const auto drawn = static_cast<std::size_t>(ranks) > most_sampled_ranks ? 3 : ranks;
  for (int i = 0; i < 360; ++i) {
    UsageSample sample{.at = 90'000 + 5'000 * i, .attempt = 0, .cpu = {}, .memory = {}};
    for (int line = 0; line < drawn; ++line) {
      sample.cpu.push_back(500 + 400 * line + 90 * (i * (line + 3) % 7));
      sample.memory.push_back((std::int64_t{200} + 30 * line + i / 4) << 20);
      sample.gpu.push_back(i < 5 ? 0 : 820 + 10 * (i * (line + 2) % 17));
      sample.gpu_memory.push_back((std::int64_t{i < 5 ? 1 : 61} + line) << 30);
    }
    samples.push_back(std::move(sample));
  }
  return usage_charts(task, samples);
}

/// How the hosts of an attempt started: each a bit later than the one before it.
inline AttemptStart some_start(int hosts) {
  AttemptStart start{.attempt = 1, .begun = 1'970'000, .hosts = {}};
  for (int host = 0; host < hosts; ++host) {
    HostStart& each = start.hosts.emplace_back(HostStart{fmt::format("node{:02}", host), {}});
    const std::int64_t late = 7 * host;
    each.at = {40, 160 + late, 420 + late, 900 + 2 * late, 950 + 2 * late, 2'400, 2'420 + late};
  }
  return start;
}

/// A task that has failed after a restart: ranks of eight on a host, with so many lines each.
inline TaskReport some_failed_report(int ranks, std::size_t lines) {
  TaskReport report;
  report.head = {
      .name = "digits",
      .id = "abcd2345",
      .state = "failed",
      .outlook = ReportOutlook::bad,
      .ending = "after 1h03m: rank 3 on node00 exited with code 1 (exit 1)",
      .next = {"train task logs abcd2345 --rank 3 --tail 50", "train task rerun abcd2345"},
      .culprit = "rank 3 on node00",
      .errors = {"Traceback (most recent call last):", "ValueError: <b>x</b> & \"y\""},
      .facts = {{"command", "python3 train.py --name='a & b'", true},
                {"hosts", "node[00-63]"},
                {"exit code", "1"}}};
  using enum TimeBar::Kind;
  report.time_line.rows = {
      {"before the first attempt", "", {{queued, 0, 60'000, "waiting, 1 min"}}},
      {"attempt 0",
       "host 'node07' is lost",
       {{starting, 60'000, 90'000, "starting, 30 s"},
        {running, 90'000, 1'900'000, "running, 30 min", true},
        {stopping, 1'900'000, 1'960'000, "being stopped, 1 min"}}},
      {"attempt 1",
       "rank 3 on node00 exited with code 1",
       {{starting, 1'970'000, 2'000'000, "starting, 30 s"},
        {running, 2'000'000, 3'700'000, "running, 28 min", true},
        {stopping, 3'700'000, 3'780'000, "being stopped, 1 min"}}}};
  report.events = {.caption = "What has happened",
                   .columns = {{"time"}, {"attempt", true}, {"event"}},
                   .rows = {{{"2026-11-24 15:50:01", 1}, {"-"}, {"launched"}},
                            {{"2026-11-24 15:51:01", 2}, {"0"}, {"host 'node07' is lost"}}}};
  report.ranks = {.caption = "Ranks of the last attempt",
                  .columns = {{"rank", true}, {"host"}, {"peak memory", true}, {"ended"}, {"log"}},
                  .rows = {}};
  ClusterPicture picture;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string host = fmt::format("node{:02}", rank / 8);
    report.ranks.rows.push_back({{std::to_string(rank), double(rank)},
                                 {host},
                                 {fmt::format("{}.0 MiB", 100 + rank), double(100 + rank)},
                                 {rank == 3 ? "exit 1" : "SIGTERM (stopped by train)"},
                                 {"log", {}, log_id(std::nullopt, rank)}});
    report.logs.push_back(some_log(std::nullopt, rank, lines));
    if (rank % 8 != 0) continue;
    HostLook look{.slots = 8, .runs = {}, .ranks = 8, .is_left_out = false, .note = {}};
    for (int slot = 0; slot < 8; ++slot)
      look.runs.push_back({.first_slot = slot,
                           .slots = 1,
                           .state = SlotState::used,
                           .first_rank = slot,
                           .rank_count = 1,
                           .taken = Quantity::of(1)});
    picture.rows.push_back({.hosts = {host}, .look = look, .first_rank = rank});
  }
  picture.rows = fold_rows(picture.rows, 16);
  report.placement = picture;
  if (ranks > 3) {
    report.logs[3].is_culprit = true;
    report.logs[3].ended = "exit 1";
    report.logs[3].left_out = 123'456;
  }
  MetricChart chart = some_chart(1, 64);
  chart.lines.front().name = "rank 0";
  chart.reporters = "ranks";
  chart.smaller_is_better.reset();
  chart.best.reset();
  report.metrics = {chart};
  report.usage = some_usage(ranks);
  const AttemptStart start = some_start((ranks + 7) / 8);
  report.start_heading = "Start of attempt 1 on each host";
  report.start = start_line_of(start);
  report.starts = start_table_of(start);
  report.experiment = "name: digits\nentrypoint: python3 train.py\nhyperparameters: {lr: 0.1}\n";
  report.environment = {"MASTER_ADDR", "RANK", "WORLD_SIZE"};
  report.logs_remark = "The last lines of each rank.";
  report.made = "Made by train.";
  return report;
}

/// A search that goes on, with so many trials and metrics.
inline TaskReport some_search_report(int trials, int metrics) {
  TaskReport report;
  report.head = {
      .name = "a search whose name-is-long-and-has-no-blanks-to-break-it-at-all-anywhere-in-it",
      .id = "wxyz2345",
      .state = "running",
      .outlook = ReportOutlook::unfinished,
      .ending = "for 2h00m",
      .next = {},
      .culprit = {},
      .errors = {},
      .facts = {{"command", "python3 tune.py", true}}};
  TimeRow row{.name = "trials", .bars = {}};
  report.trials = {
      .caption = "Trials",
      .columns = {{"trial", true}, {"state"}, {"best loss", true}, {"lr"}, {"cause"}, {"log"}},
      .rows = {}};
  for (int trial = 0; trial < trials; ++trial) {
    const std::int64_t begin = 1'000 * (trial / 8) + 37 * (trial % 8);
    const bool has_failed = trial % 7 == 6;
    row.bars.push_back({has_failed       ? TimeBar::Kind::failed
                        : trial % 3 == 0 ? TimeBar::Kind::succeeded
                                         : TimeBar::Kind::stopped,
                        begin, begin + 700 + 30 * (trial % 8), fmt::format("trial {}", trial),
                        has_failed});
    report.trials.rows.push_back(
        {{std::to_string(trial), double(trial)},
         {has_failed ? "failed" : "stopped"},
         {fmt::format("{:.4f}", 1.0 / (trial + 1)), 1.0 / (trial + 1)},
         {fmt::format("{:.4g}", 0.1 / (trial + 1))},
         {has_failed
              ? "rank 0 on node00 exited with code 1, and what it said last is a long sentence"
              : "-"},
         {"log", {}, log_id(trial, 0)}});
    report.logs.push_back(some_log(trial, 0, 40));
  }
  report.time_line.rows = {std::move(row)};
  for (int metric = 0; metric < metrics; ++metric) {
    MetricChart chart = some_chart(trials, 64);
    chart.metric_name = fmt::format("metric {}", metric);
    report.metrics.push_back(std::move(chart));
  }
  report.made = "Made by train.";
  return report;
}

}  // namespace train
