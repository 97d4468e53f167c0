// SPDX-License-Identifier: Apache-2.0
#include "cli/show/task_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "cli/show/metric_charts.hpp"
#include "cli/show/rank_results.hpp"
#include "cli/show/search_chart.hpp"
#include "cli/show/task_picture.hpp"
#include "cli/show/task_table.hpp"
#include "cli/show/task_text.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/text/duration.hpp"
#include "config_schema/text/shell_words.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/hyperparameters/varied_values.hpp"
#include "launcher/report_page/recorded_time_line.hpp"

namespace train {

namespace {

constexpr std::size_t most_rank_rows = 4'096;
constexpr std::size_t most_trial_rows = 5'000;
constexpr std::size_t most_event_rows = 400;
constexpr std::size_t most_picture_rows = 40;
constexpr std::size_t largest_read_plan = 16u << 20;  // bytes

ReportOutlook outlook_of(const TaskRecord& task) {
  if (!is_final(task.state)) return ReportOutlook::unfinished;
  return task.state == TaskState::succeeded ? ReportOutlook::good : ReportOutlook::bad;
}

std::string ending_of(const ReportSource& source, UnixMillis now) {
  const TaskRecord& task = source.task;
  std::string text =
      fmt::format("{} {}", is_final(task.state) ? "after" : "for", elapsed_text(task, now));
  if (!task.cause.empty()) text += ": " + task.cause;
  if (task.exit_code && *task.exit_code != 0) text += fmt::format(" (exit {})", *task.exit_code);
  return text;
}

std::string command_of(const ExperimentConfig& experiment) {
  return experiment.entrypoint.shell.empty() ? shell_line(experiment.entrypoint.argv)
                                             : experiment.entrypoint.shell;
}

void add_fact(ReportHead& head, std::string name, std::string value, bool is_code = false) {
  if (!value.empty()) head.facts.push_back({std::move(name), std::move(value), is_code});
}

ReportHead head_of(const ReportSource& source, UnixMillis now) {
  const TaskRecord& task = source.task;
  ReportHead head{.name = task.name,
                  .id = task.id,
                  .state = std::string(shown_state(task)),
                  .outlook = outlook_of(task),
                  .ending = ending_of(source, now),
                  .next = next_commands(task, source.events),
                  .culprit = {},
                  .errors = {},
                  .facts = {}};
  if (const RankRecord* const culprit = failed_rank(task.ranks, source.events))
    head.culprit = fmt::format("rank {} on {}", culprit->rank, culprit->host);
  if (source.experiment != nullptr) add_fact(head, "command", command_of(*source.experiment), true);
  for (const std::string& line : split_lines(source.news)) add_fact(head, "now", line);
  add_fact(head, "created", local_time(task.created));
  if (task.started) add_fact(head, "started", local_time(*task.started));
  if (task.ended) add_fact(head, "ended", local_time(*task.ended));
  add_fact(head, "elapsed", elapsed_text(task, now));
  if (task.exit_code) add_fact(head, "exit code", std::to_string(*task.exit_code));
  add_fact(head, "restarts", std::to_string(task.restarts));
  add_fact(head, "hosts", summarized_names(task.hosts));
  add_fact(head, "slots", task.slots);
  add_fact(head, "ranks", ranks_text(task));
  add_fact(head, "user", task.user);
  add_fact(head, "directory", task.working_directory, true);
  add_fact(head, "context", task.context.directory, true);
  if (!task.git.commit.empty())
    add_fact(head, "commit",
             task.git.commit + (task.git.is_dirty.value_or(false) ? ", with changes" : ""), true);
  add_fact(head, "logs", task.log_directory, true);
  if (!task.unsettled_hosts.empty())
    add_fact(head, "left on", summarize_hosts(task.unsettled_hosts));
  return head;
}

// "2026-11-24 15:50:01", or "-".
std::string time_or_dash(const std::optional<UnixMillis>& at) { return at ? local_time(*at) : "-"; }

ReportTable events_table(const std::vector<RecordedEvent>& events) {
  ReportTable table{.caption = "What has happened, on the clock of the launcher",
                    .columns = {{"time"}, {"attempt", true}, {"event"}},
                    .rows = {}};
  const std::size_t left_out = events.size() - std::min(events.size(), most_event_rows);
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (left_out > 0 && i >= most_event_rows / 2 && i < most_event_rows / 2 + left_out) continue;
    const RecordedEvent& event = events[i];
    table.rows.push_back(
        {{time_or_dash(event.at),
          event.at ? std::optional(static_cast<double>(*event.at) + 1e-3 * static_cast<double>(i))
                   : std::nullopt},
         {event.attempt ? std::to_string(*event.attempt) : "-"},
         {event.words}});
  }
  if (left_out > 0) table.remark = fmt::format("{} events between these are left out.", left_out);
  return table;
}

template <class Words>
ReportCell figure_cell(const std::optional<std::int64_t>& value, Words words) {
  if (!value) return {"-"};
  return {words(*value), static_cast<double>(*value)};
}

ReportCell log_cell(const std::set<std::string>& logs, const std::string& id) {
  return logs.contains(id) ? ReportCell{"log", {}, id} : ReportCell{"-"};
}

// Failed ranks first, if there are too many.
ReportTable ranks_table(const ReportSource& source, const std::set<std::string>& logs) {
  const TaskRecord& task = source.task;
  ReportTable table{
      .caption = "Ranks of the last attempt: what each has used, with all that it started",
      .columns = {{"rank", true},
                  {"host"},
                  {"slots"},
                  {"CPUs"},
                  {"CPU time", true},
                  {"memory", true},
                  {"peak memory", true},
                  {"ended"},
                  {"log"}},
      .rows = {}};
  const auto row_of = [&](const RankRecord& rank) {
    std::string ended = how_ended(rank);
    if (!rank.oom.empty()) ended += "; " + rank.oom;
    if (!rank.core.empty()) ended += "; " + rank.core;
    return std::vector<ReportCell>{
        {std::to_string(rank.rank), rank.rank},         {rank.host.empty() ? "-" : rank.host},
        {rank.slots.empty() ? "-" : rank.slots},        {rank.cpus.empty() ? "-" : rank.cpus},
        figure_cell(rank.cpu_ms, format_duration),      figure_cell(rank.memory, memory_use_text),
        figure_cell(rank.memory_peak, memory_use_text), {std::move(ended)},
        log_cell(logs, log_id(std::nullopt, rank.rank))};
  };
  const RankRecord* const culprit = failed_rank(task.ranks, source.events);
  for (const RankRecord& rank : task.ranks) {
    const bool has_room = table.rows.size() < most_rank_rows;
    if (has_room || &rank == culprit) table.rows.push_back(row_of(rank));
  }
  if (table.rows.size() < task.ranks.size())
    table.remark = fmt::format("{} more ranks are left out; all: train task show {} --json",
                               task.ranks.size() - table.rows.size(), task.id);
  return table;
}

ReportCell step_cell(const TrialRecord& trial) {
  if (trial.reports.empty() || !trial.reports.back().step) return {"-"};
  const double step = *trial.reports.back().step;
  return {fmt::format("{:.15g}", step), step};
}

ReportTable trials_table(const TaskRecord& task, const SearchRecord& search,
                         const std::set<std::string>& logs, UnixMillis now) {
  const std::string metric = search.config.metric.empty() ? "best" : "best " + search.config.metric;
  ReportTable table{.caption = "Trials; the best one has a star",
                    .columns = {{"trial", true},
                                {"state"},
                                {metric, true},
                                {"last step", true},
                                {"reports", true},
                                {"lasted", true},
                                {"attempts", true},
                                {"hosts"}},
                    .rows = {}};
  const auto best = best_of(search);
  if (!search.trials.empty())
    for (const VariedValue& value :
         varied_values(search.config.space, search.trials.front().hyperparameters_json))
      table.columns.push_back({value.name});
  table.columns.push_back({"cause"});
  table.columns.push_back({"log"});
  for (const TrialRecord& trial : search.trials) {
    if (table.rows.size() == most_trial_rows) break;
    const bool is_best = best && best->trial == trial.trial;
    const auto* const attempt = trial.attempts.empty() ? nullptr : &trial.attempts.back();
    std::optional<std::int64_t> lasted;
    if (attempt != nullptr && trial.attempts.front().started)
      lasted = attempt->ended.value_or(task.ended.value_or(now)) - *trial.attempts.front().started;
    std::vector<ReportCell> row{
        {fmt::format("{}{}", trial.trial, is_best ? " *" : ""), static_cast<double>(trial.trial)},
        {std::string(trial_states().row(trial.state).name)},
        trial.best ? ReportCell{fmt::format("{:.6g}", trial.best->metric), trial.best->metric}
                   : ReportCell{"-"},
        step_cell(trial),
        {std::to_string(trial.reports.size()), static_cast<double>(trial.reports.size())},
        figure_cell(lasted, format_duration),
        {std::to_string(trial.attempts.size()), static_cast<double>(trial.attempts.size())},
        {attempt == nullptr ? "-" : summarize_hosts(attempt->hosts, 2)}};
    for (const VariedValue& value : varied_values(search.config.space, trial.hyperparameters_json))
      row.push_back({value.text});
    row.push_back({attempt == nullptr || attempt->cause.empty() ? "-" : attempt->cause});
    row.push_back(log_cell(logs, log_id(static_cast<int>(trial.trial), 0)));
    row.resize(table.columns.size());
    table.rows.push_back(std::move(row));
  }
  if (table.rows.size() < search.trials.size())
    table.remark = fmt::format("{} more trials are left out; all: train task show {} --json",
                               search.trials.size() - table.rows.size(), task.id);
  return table;
}

// The metric that the search compares comes first, with its best trial.
MetricCharts charts_of_search(const TaskRecord& task, const SearchRecord& search) {
  std::vector<ReportedSeries> series;
  for (const TrialRecord& trial : search.trials) {
    if (trial.reports.empty()) continue;
    const std::string varied =
        varied_text(varied_values(search.config.space, trial.hyperparameters_json));
    ReportedSeries each{.name = fmt::format("trial {}", trial.trial),
                        .remark = fmt::format("{}{}{}", trial_states().row(trial.state).name,
                                              varied.empty() ? "" : ": ", varied),
                        .kind = line_kind(trial.state),
                        .reports = {}};
    for (const KeptReport& report : trial.reports) each.reports.push_back(report.json);
    series.push_back(std::move(each));
  }
  MetricCharts charts = charts_of(series, search.config.time_metric, "trials");
  if (auto compared = chart_of(task, search)) {
    std::erase_if(charts.charts, [&](const MetricChart& chart) {
      return chart.metric_name == search.config.metric;
    });
    charts.charts.insert(charts.charts.begin(), std::move(*compared));
  }
  return charts;
}

// The names of the variables of rank 0, from the plan.
std::vector<std::string> environment_names(const TaskRecord& task) {
  if (task.plan_json.empty() || task.plan_json.size() > largest_read_plan) return {};
  const auto plan = nlohmann::json::parse(task.plan_json, nullptr, false);
  const auto at = nlohmann::json::json_pointer("/trials/0/ranks/0/env");
  if (plan.is_discarded() || !plan.contains(at) || !plan[at].is_object()) return {};
  std::vector<std::string> names;
  for (const auto& [name, value] : plan[at].items()) names.push_back(name);
  return names;
}

}  // namespace

TaskReport task_report_of(const ReportSource& source, std::vector<ReportLog> logs, UnixMillis now) {
  const TaskRecord& task = source.task;
  std::set<std::string> ids;
  for (const ReportLog& log : logs) ids.insert(log_id(log.trial, log.rank));
  TaskReport report;
  report.head = head_of(source, now);
  report.time_line = source.search != nullptr ? time_line_of(task, *source.search, now)
                                              : time_line_of(task, source.events, now);
  report.events =
      events_table(source.search != nullptr ? outside_of_trials(source.events) : source.events);
  if (!task.ranks.empty()) report.placement = draw_task(task.ranks, most_picture_rows);
  report.ranks = ranks_table(source, ids);
  if (source.search != nullptr) {
    report.trials = trials_table(task, *source.search, ids, now);
    MetricCharts charts = charts_of_search(task, *source.search);
    report.metrics = std::move(charts.charts);
    report.metrics_remark = std::move(charts.remark);
  }
  report.experiment = task.config_text;
  report.environment = environment_names(task);
  report.logs = std::move(logs);
  return report;
}

}  // namespace train
