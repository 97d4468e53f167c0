// SPDX-License-Identifier: Apache-2.0
#include "cli/show/search_of_task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "backends/log/kept_reports.hpp"
#include "cli/show/trial_table.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/experiment/experiment_config.hpp"
#include "launcher/hyperparameters/varied_values.hpp"
#include "launcher/task/rerun_request.hpp"

namespace train {

namespace {

tl::unexpected<Error> unknown(const TaskRecord& task, const Error& why) {
  return fail(ErrorClass::no_input,
              fmt::format("what the search of task {} has come to cannot be told: {}", task.id,
                          why.diagnostics.front().message));
}

}  // namespace

Result<std::optional<ExperimentConfig>> recorded_experiment(SqliteTaskStore& store,
                                                            const TaskRecord& task) {
  const auto text = store.read_launch(task.id);
  if (!text) return std::nullopt;
  const auto request = decode_rerun(*text);
  if (!request) return tl::make_unexpected(request.error());
  auto experiment = request->config.empty()
                        ? make_experiment(request->overrides, ReadFor::planning)
                        : parse_experiment({request->config, request->experiment_text},
                                           request->overrides, ReadFor::planning);
  if (!experiment) return tl::make_unexpected(experiment.error());
  return std::move(*experiment);
}

namespace {

std::vector<int> reporting_ranks(const TaskRecord& task, const MetricsConfig& metrics) {
  std::vector<int> ranks;
  for (int rank = 0; rank < task.world_size; ++rank)
    if (metrics.counts(rank)) ranks.push_back(rank);
  return ranks;
}

std::vector<std::string> reports_of(const TaskRecord& task, const TrialRecord& trial,
                                    const MetricsConfig& metrics) {
  std::vector<std::string> all;
  const std::string directory =
      trial_log_directory(task.log_directory, static_cast<int>(trial.trial));
  for (const TrialAttempt& attempt : trial.attempts)
    if (auto kept = kept_reports(directory, reporting_ranks(task, metrics), attempt.number,
                                 metrics.patterns))
      all.insert(all.end(), kept->begin(), kept->end());
  return all;
}

std::optional<UnixMillis> lasted(const TrialRecord& trial, UnixMillis now) {
  if (trial.attempts.empty() || !trial.attempts.front().started) return std::nullopt;
  const bool runs = trial.state == TrialState::running || trial.state == TrialState::stopping;
  const auto end = runs ? std::optional(now) : trial.attempts.back().ended;
  if (!end) return std::nullopt;
  return std::max<UnixMillis>(0, *end - *trial.attempts.front().started);
}

TrialRow row_of(const SearchRecord& search, const TrialRecord& trial, UnixMillis now) {
  TrialRow row{.trial = trial.trial,
               .state = trial.state,
               .hosts = {},
               .lasted = lasted(trial, now),
               .varied = varied_values(search.config.space, trial.hyperparameters_json)};
  if (!trial.attempts.empty()) row.hosts = trial.attempts.back().hosts;
  if (!trial.reports.empty()) row.step = trial.reports.back().step;
  if (trial.best) row.best = trial.best->metric;
  return row;
}

bool has_ended(const TrialRecord& trial) {
  return trial.state != TrialState::waiting && trial.state != TrialState::running &&
         trial.state != TrialState::stopping;
}

// The trials to show, by number: running ones first, then the best of the others.
std::set<std::int64_t> shown_trials(const SearchRecord& search, std::size_t most) {
  std::vector<const TrialRecord*> order;
  for (const TrialRecord& trial : search.trials) order.push_back(&trial);
  const auto rank = [&](const TrialRecord* trial) {
    const bool runs = !has_ended(*trial) && trial->state != TrialState::waiting;
    const double sign = search.config.settings.smaller_is_better ? 1 : -1;
    return std::tuple(!runs, !trial->best, trial->best ? sign * trial->best->metric : 0.0,
                      trial->trial);
  };
  std::sort(order.begin(), order.end(),
            [&](const TrialRecord* a, const TrialRecord* b) { return rank(a) < rank(b); });
  std::set<std::int64_t> shown;
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i) shown.insert(order[i]->trial);
  return shown;
}

}  // namespace

Result<std::optional<SearchRecord>> search_of_task(SqliteTaskStore& store, const TaskRecord& task) {
  if (!is_search(task)) return std::nullopt;
  const auto experiment = recorded_experiment(store, task);
  if (!experiment) return unknown(task, experiment.error());
  if (!*experiment || !(*experiment)->search_config) return std::nullopt;
  const auto lines = store.read_journal(task.id);
  if (!lines) return unknown(task, lines.error());
  const auto journal = decode_journal(*lines);
  if (!journal) return unknown(task, journal.error());
  auto record = search_of_task(task, **experiment, *journal);
  if (!record) return tl::make_unexpected(record.error());
  return std::move(*record);
}

Result<SearchRecord> search_of_task(const TaskRecord& task, const ExperimentConfig& experiment,
                                    const std::vector<JournalEntry>& journal) {
  auto record = search_record(*experiment.search_config, journal, is_final(task.state));
  if (!record) return unknown(task, record.error());
  add_reports(*record, [&](const TrialRecord& trial) {
    return reports_of(task, trial, experiment.metrics);
  });
  return record;
}

Error no_search(const TaskRecord& task) {
  return make_error(ErrorClass::usage, fmt::format("task {} is no search", task.id),
                    fmt::format("train task show {} tells how it is", task.id));
}

std::string with_step(const SearchConfig& config) {
  if (config.time_metric.empty()) return {};
  return fmt::format(" with '{}' or 'step'", config.time_metric);
}

Error no_report(const TaskRecord& task, const SearchRecord& search) {
  if (search.config.metric.empty())
    return make_error(ErrorClass::no_input,
                      fmt::format("the search of task {} has no metric", task.id),
                      "'metric' of an experiment says which of what is reported is compared");
  const auto has_metric = [&](const KeptReport& report) {
    return nlohmann::json::parse(report.json, nullptr, false).contains(search.config.metric);
  };
  const bool is_any =
      std::any_of(search.trials.begin(), search.trials.end(), [&](const auto& each) {
        return std::any_of(each.reports.begin(), each.reports.end(), has_metric);
      });
  if (is_any)
    return make_error(ErrorClass::no_input,
                      fmt::format("no trial of task {} has reported '{}' as a number{}", task.id,
                                  search.config.metric, with_step(search.config)),
                      "trials are compared by a finite one: train report loss=0.3 --step 100");
  return make_error(
      ErrorClass::no_input,
      fmt::format("no trial of task {} has reported '{}'", task.id, search.config.metric),
      "a script reports with 'train report', or with a line of JSON in $TRAIN_METRICS_FILE");
}

std::string search_json_of(SqliteTaskStore& store, const TaskRecord& task) {
  const auto search = search_of_task(store, task);
  if (!search) talk(terminal_text(search.error()));
  return search && *search ? search_to_json(**search) : std::string();
}

std::string search_to_text(const SearchRecord& search, UnixMillis now, std::size_t most_rows) {
  const auto best = best_of(search);
  const std::set<std::int64_t> shown = shown_trials(search, most_rows);
  std::vector<TrialRow> rows;
  rows.reserve(shown.size());
  for (const std::int64_t number : shown)
    rows.push_back(row_of(search, search.trials[static_cast<std::size_t>(number)], now));
  std::string text =
      trials_to_table(search.config, rows, best ? std::optional(best->trial) : std::nullopt);
  if (shown.size() < search.trials.size())
    text += fmt::format("... {} more trials are not shown here; --json has all\n",
                        search.trials.size() - shown.size());
  return text + count_trials([&](TrialState state) {
           return std::count_if(search.trials.begin(), search.trials.end(),
                                [&](const TrialRecord& each) { return each.state == state; });
         }) +
         "\n";
}

}  // namespace train
