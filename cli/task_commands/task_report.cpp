// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "backends/log/kept_reports.hpp"
#include "backends/posix/files.hpp"
#include "cli/commands/flags.hpp"
#include "cli/logs/report_logs.hpp"
#include "cli/record/measure_files.hpp"
#include "cli/show/metric_charts.hpp"
#include "cli/show/rank_results.hpp"
#include "cli/show/search_of_task.hpp"
#include "cli/show/task_report.hpp"
#include "cli/show/task_table.hpp"
#include "cli/supervisor/task_control.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/task_commands/task_commands.hpp"
#include "cli/task_commands/task_look.hpp"
#include "cli/terminal/talk.hpp"
#include "launcher/report_page/report_page.hpp"
#include "launcher/report_page/start_line.hpp"
#include "launcher/report_page/usage_charts.hpp"

namespace train {

namespace {

struct TaskReportFlags {
  std::string task;
  std::string file;  ///< "-": standard output; empty: train-ID.html in the current directory
};

constexpr mode_t only_own = 0600;           // logs may have what others must not see
constexpr std::size_t most_attempts = 100;  // whose reports are read

LineKind kind_of_line(const TaskRecord& task) {
  if (!is_final(task.state)) return LineKind::running;
  return task.state == TaskState::succeeded ? LineKind::succeeded : LineKind::failed;
}

// What the ranks whose reports count have reported in all attempts.
Result<std::vector<ReportedSeries>> series_of(const TaskRecord& task,
                                              const MetricsConfig& metrics) {
  std::vector<ReportedSeries> all;
  const std::size_t attempts = task.attempts.size();
  for (const RankRecord& rank : task.ranks) {
    if (!metrics.counts(rank.rank)) continue;
    ReportedSeries series{.name = fmt::format("rank {}", rank.rank),
                          .remark = std::string(to_string(task.state)),
                          .kind = kind_of_line(task),
                          .reports = {}};
    for (std::size_t i = attempts - std::min(attempts, most_attempts); i < attempts; ++i) {
      auto kept =
          kept_reports(task.log_directory, {rank.rank}, task.attempts[i].number, metrics.patterns);
      if (!kept) return tl::make_unexpected(kept.error());
      series.reports.insert(series.reports.end(), std::make_move_iterator(kept->begin()),
                            std::make_move_iterator(kept->end()));
    }
    if (!series.reports.empty()) all.push_back(std::move(series));
  }
  return all;
}

void add_metrics(TaskReport& report, const TaskRecord& task,
                 const std::optional<ExperimentConfig>& experiment) {
  const auto series = series_of(task, experiment ? experiment->metrics : MetricsConfig());
  if (!series) return talk(terminal_text(series.error()));
  const bool has_search = experiment && experiment->search_config;
  MetricCharts charts =
      charts_of(*series, has_search ? experiment->search_config->time_metric : "", "ranks");
  report.metrics = std::move(charts.charts);
  report.metrics_remark = std::move(charts.remark);
}

void add_measures(TaskReport& report, const SqliteTaskStore& store, const TaskRecord& task) {
  report.usage = usage_charts(task, read_usage(store.usage_file(task.id)));
  const auto start = read_last_start(store.starts_file(task.id));
  if (!start) return;
  report.start_heading = fmt::format("Start of attempt {} on each host", start->attempt);
  report.start = start_line_of(*start);
  report.starts = start_table_of(*start);
}

std::string page_of(SqliteTaskStore& store, const TaskLook& look) {
  const TaskRecord& task = look.task;
  if (!look.search) talk(terminal_text(look.search.error()));
  const SearchRecord* const search = look.is_search() ? &**look.search : nullptr;
  const auto recorded = recorded_experiment(store, task);
  if (!recorded) talk(terminal_text(recorded.error()));
  const std::optional<ExperimentConfig> experiment = recorded ? *recorded : std::nullopt;
  const RankRecord* const culprit = failed_rank(task.ranks, look.events);
  ReportLogs logs = report_logs_of(task, search, culprit);
  const UnixMillis now = now_on_the_wall();
  TaskReport report = task_report_of({.task = task,
                                      .events = look.events,
                                      .search = search,
                                      .experiment = experiment ? &*experiment : nullptr,
                                      .news = describe_now(look.now).text()},
                                     std::move(logs.logs), now);
  report.logs_remark = std::move(logs.remark);
  if (culprit != nullptr) report.head.errors = last_errors_of(task, *culprit);
  if (search == nullptr) add_metrics(report, task, experiment);
  add_measures(report, store, task);
  report.made = fmt::format("Made by train {} on {}.", TRAIN_VERSION, local_time(now));
  return report_page(report);
}

ExitCode task_report_command(const TaskReportFlags& flags) {
  auto store = open_task_store();
  if (!store) return report(store.error());
  const auto look = look_at(**store, flags.task);
  if (!look) return report(look.error());
  const std::string page = page_of(**store, *look);
  if (flags.file == "-") return answer(page);
  const std::string file =
      flags.file.empty() ? fmt::format("train-{}.html", look->task.id) : flags.file;
  if (auto written = write_file(file, page, only_own); !written) return report(written.error());
  talk(terminal_text("{}: the page of task {}, {} bytes", file, look->task.id, page.size()));
  return ExitCode();
}

}  // namespace

void add_task_report(CLI::App& task, Choice& choice) {
  const auto flags = std::make_shared<TaskReportFlags>();
  CLI::App* command =
      task.add_subcommand("report", "Write a page about a task that a browser shows")
          ->group("Commands");
  add_task_name(*command, flags->task);
  command
      ->add_option("-o,--output", flags->file,
                   "To this file; else train-ID.html here; - for standard output")
      ->type_name("FILE")
      ->check(names("file"));
  command->footer(
      "Examples:\n"
      "  train task report k3wq -o digits.html");
  command->callback(
      [&choice, flags] { choice.run = [flags] { return task_report_command(*flags); }; });
}

}  // namespace train
