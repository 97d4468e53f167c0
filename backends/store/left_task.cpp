// SPDX-License-Identifier: Apache-2.0
#include "backends/store/left_task.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "backends/posix/files.hpp"
#include "backends/registry/journal_rows.hpp"
#include "backends/registry/registry.hpp"
#include "backends/registry/task_rows.hpp"
#include "backends/store/task_lock.hpp"
#include "config_schema/experiment/experiment_config.hpp"

namespace train {

namespace {

UnixMillis modified(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return 0;
  return status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1'000'000;
}

template <class Record>
bool has(const std::vector<JournalEntry>& entries) {
  return std::any_of(entries.begin(), entries.end(), [](const JournalEntry& entry) {
    return std::holds_alternative<Record>(entry.record);
  });
}

}  // namespace

Moment last_sign_of_life(SQLite::Database& database, const TaskRecord& task,
                         const std::string& lock_file) {
  Moment latest = last_noted(lock_file);
  UnixMillis logged = 0;
  for (const std::string& name : names_in(FolderReader(task.log_directory)))
    logged = std::max(logged, modified(fmt::format("{}/{}", task.log_directory, name)));
  // Both times come from the same file system, so their difference is also valid on the boot clock.
  if (logged > latest.wall) {
    latest.since_boot += milliseconds(logged - latest.wall);
    latest.wall = logged;
  }
  latest.wall = std::max({latest.wall, task.created, last_update(database, task.id)});
  return latest;
}

LeftJournal left_journal(SQLite::Database& database, const std::string& id) {
  LeftJournal journal;
  try {
    for (const std::string& line : read_entries(database, id, most_journal_entries)) {
      auto entry = decode_entry(line);
      if (entry)
        journal.entries.push_back(std::move(*entry));
      else
        journal.is_whole = false;
    }
  } catch (const SQLite::Exception& exception) {
    if (!is_damage(exception)) throw;
    journal.is_whole = false;
  }
  return journal;
}

bool LeftJournal::has_stop() const { return has<journal_record::StopRequested>(entries); }

milliseconds may_go_on_for(const TaskRecord& task, const LeftJournal& journal,
                           const Moment& last_life) {
  constexpr milliseconds not_at_all{-1};
  if (task.outlives_ms <= 0) return not_at_all;
  if (journal.is_whole && !has<journal_record::RanksStarted>(journal.entries)) return not_at_all;
  if (task.outlives_ms >= for_ever.count()) return for_ever;
  return left_of(milliseconds(task.outlives_ms), last_life, this_moment());
}

}  // namespace train
