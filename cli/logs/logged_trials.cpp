// SPDX-License-Identifier: Apache-2.0
#include "cli/logs/logged_trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "backends/posix/files.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/output/log_index.hpp"

namespace train {

namespace {

constexpr int highest = std::numeric_limits<int>::max();

// "trial-12".
std::optional<int> trial_of_folder(std::string_view name) {
  constexpr std::string_view begin = "trial-";
  if (!name.starts_with(begin)) return std::nullopt;
  const auto trial = whole_number(name.substr(begin.size()), 0, highest);
  if (!trial || trial_log_directory({}, *trial).substr(1) != name) return std::nullopt;
  return trial;
}

struct RankAttempt {
  int rank = 0;
  int attempt = 0;
};

// "rank-3.1.log", or a later segment of it: the first one may be deleted already.
std::optional<RankAttempt> source_of_log(std::string_view name) {
  constexpr std::string_view begin = "rank-";
  if (!name.starts_with(begin)) return std::nullopt;
  const std::string_view numbers = name.substr(begin.size());
  const std::size_t dot = numbers.find('.');
  if (dot == numbers.npos) return std::nullopt;
  const std::string_view behind = numbers.substr(dot + 1);
  const auto rank = whole_number(numbers.substr(0, dot), 0, highest);
  const auto attempt = whole_number(behind.substr(0, behind.find('.')), 0, highest);
  if (!rank || !attempt) return std::nullopt;
  const std::string first = rank_log_file({}, *rank, *attempt).substr(1);
  if (!begin_of_segment(first, name)) return std::nullopt;
  return RankAttempt{*rank, *attempt};
}

// "12 trials, 0 to 11".
std::string in_words(const std::vector<int>& trials) {
  if (trials.size() == 1) return fmt::format("trial {} alone", trials.front());
  return fmt::format("{} trials, {} to {}", trials.size(), trials.front(), trials.back());
}

Result<TaskRecord> with_logs_in(const std::string& folder, TaskRecord task) {
  int last_rank = -1;
  task.restarts = 0;
  FolderReader files(folder);
  while (const char* name = files ? files.next() : nullptr) {
    const auto log = source_of_log(name);
    if (!log) continue;
    last_rank = std::max(last_rank, log->rank);
    task.restarts = std::max(task.restarts, log->attempt);
  }
  if (last_rank < 0)
    return fail(ErrorClass::no_input, fmt::format("there are no logs in '{}'", folder));
  task.log_directory = folder;
  task.attempts.clear();
  task.ranks.clear();
  for (int rank = 0; rank <= last_rank; ++rank) {
    RankRecord& record = task.ranks.emplace_back();
    record.rank = rank;
    record.log_file = rank_log_file(folder, rank, task.restarts);
  }
  return task;
}

}  // namespace

std::vector<int> logged_trials(const std::string& log_directory) {
  std::vector<int> trials;
  FolderReader folder(log_directory);
  while (const char* name = folder ? folder.next() : nullptr)
    if (const auto trial = trial_of_folder(name)) trials.push_back(*trial);
  std::sort(trials.begin(), trials.end());
  return trials;
}

Result<TaskRecord> only_trial(TaskRecord task, std::optional<int> trial) {
  const std::vector<int> trials = logged_trials(task.log_directory);
  if (trials.empty() && is_search(task))
    return fail(ErrorClass::no_input, fmt::format("task {} has no logs yet", task.id),
                fmt::format("train task show {} tells how its trials are", task.id));
  if (trials.empty()) {
    if (trial.value_or(0) == 0) return task;
    return fail(ErrorClass::no_input, fmt::format("task {} has no logs of trial {}: there are "
                                                  "those of trial 0 alone",
                                                  task.id, *trial));
  }
  if (!trial)
    return fail(ErrorClass::usage, fmt::format("task {} has logs of {}", task.id, in_words(trials)),
                fmt::format("say which: --trial {}", trials.front()));
  if (!std::binary_search(trials.begin(), trials.end(), *trial))
    return fail(ErrorClass::no_input, fmt::format("task {} has no logs of trial {}: there are "
                                                  "those of {}",
                                                  task.id, *trial, in_words(trials)));
  const std::string folder = trial_log_directory(task.log_directory, *trial);
  return with_logs_in(folder, std::move(task));
}

}  // namespace train
