// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/store/sqlite_task_store.hpp"
#include "launcher/journal/search_record.hpp"

namespace train {

/// What the search has come to that a task is, with what its trials have reported; nothing where
/// the task has one trial. Class `no_input` where what it takes is not there any more, or damaged.
Result<std::optional<SearchRecord>> search_of_task(SqliteTaskStore& store, const TaskRecord& task);

/// The same of a search whose experiment and journal are known.
Result<SearchRecord> search_of_task(const TaskRecord& task, const ExperimentConfig& experiment,
                                    const std::vector<JournalEntry>& journal);

/// Why something of a search is refused to a task that is none. Class `usage`.
Error no_search(const TaskRecord& task);
/// Why something of its reports is refused where no trial has reported its metric. Class
/// `no_input`.
Error no_report(const TaskRecord& task, const SearchRecord& search);

/// What a report takes besides the metric: " with 'batches' or 'step'", or nothing.
std::string with_step(const SearchConfig& config);

/// As `search_to_json` writes it; empty where there is none. That it cannot be told is said on
/// stderr.
std::string search_json_of(SqliteTaskStore& store, const TaskRecord& task);

/// Its trials as a table, at most about `most_rows` of them: the best and those that have not
/// ended; and below it the best one.
std::string search_to_text(const SearchRecord& search, UnixMillis now, std::size_t most_rows);

}  // namespace train
