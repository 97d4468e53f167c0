// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/journal/journal_entry.hpp"
#include "launcher/record/moment.hpp"

namespace SQLite {  // NOLINT(readability-identifier-naming): the library's name
class Database;
}

namespace train {

// What a launcher that has died has recorded of its task, and what follows from that for the ranks.
// Functions throw SQLite::Exception.

/// The latest moment at which the launcher is known to have lived: it updated the record, noted the
/// moment in its lock file, or wrote into logs.
Moment last_sign_of_life(SQLite::Database& database, const TaskRecord& task,
                         const std::string& lock_file);

/// The readable entries of a journal.
struct LeftJournal {
  std::vector<JournalEntry> entries;
  bool is_whole = true;  ///< all entries are readable

  /// Whether the user or the time limit has stopped the task.
  bool has_stop() const;
};
LeftJournal left_journal(SQLite::Database& database, const std::string& id);

/// An upper bound, at most `for_ever`, of how long ranks of the task may still run. Ranks may run
/// when the journal says that some were started, or is damaged, and when their agents, by their own
/// clocks, have not ended them yet. Negative when no rank can be running.
milliseconds may_go_on_for(const TaskRecord& task, const LeftJournal& journal,
                           const Moment& last_life);

}  // namespace train
