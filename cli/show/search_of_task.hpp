// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/store/sqlite_task_store.hpp"
#include "launcher/journal/search_record.hpp"

namespace train {

/// The experiment of a task as it was launched; nothing if it is not recorded.
Result<std::optional<ExperimentConfig>> recorded_experiment(SqliteTaskStore& store,
                                                            const TaskRecord& task);

/// The state of the search that this task is, with the reports of its trials; nothing if the task
/// is not a search. Class `no_input` if the needed files are missing or damaged.
Result<std::optional<SearchRecord>> search_of_task(SqliteTaskStore& store, const TaskRecord& task);

/// The same for a search whose experiment and journal are known.
Result<SearchRecord> search_of_task(const TaskRecord& task, const ExperimentConfig& experiment,
                                    const std::vector<JournalEntry>& journal);

/// The error when a search operation is requested for a task that is not a search. Class `usage`.
Error no_search(const TaskRecord& task);
/// The error when reports are requested and no trial has reported its metric. Class `no_input`.
Error no_report(const TaskRecord& task, const SearchRecord& search);

/// The required fields of a report besides the metric: " with 'batches' or 'step'", or nothing.
std::string with_step(const SearchConfig& config);

/// The search as written by `search_to_json`; empty if the task is not a search. Failures are
/// reported on stderr.
std::string search_json_of(SqliteTaskStore& store, const TaskRecord& task);

/// The trials as a table of at most about `most_rows` rows: the best and those that have not ended;
/// below it the best trial.
std::string search_to_text(const SearchRecord& search, UnixMillis now, std::size_t most_rows);

}  // namespace train
