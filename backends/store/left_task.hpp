// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/journal/journal.hpp"
#include "launcher/record/moment.hpp"

namespace SQLite {  // NOLINT(readability-identifier-naming): the library's name
class Database;
}

namespace train {

// What a launcher that has died has left of its task, and what that says of the ranks. Functions
// throw SQLite::Exception.

/// The latest moment at which the launcher is known to have lived: it recorded, noted or wrote into
/// logs.
Moment last_sign_of_life(SQLite::Database& database, const TaskRecord& task,
                         const std::string& lock_file);

/// The entries of a journal that can be read.
struct LeftJournal {
  std::vector<JournalEntry> entries;
  bool is_whole = true;  ///< all can

  /// Whether the user, or the end of its time, has ended the task.
  bool has_stop() const;
};
LeftJournal left_journal(SQLite::Database& database, const std::string& id);

/// How long ranks of the task may still run at most, up to `for_ever`: some were started, or that
/// is where the journal is damaged, and their agents, by their own clocks, have not ended them yet.
/// Negative when none runs any more.
milliseconds may_go_on_for(const TaskRecord& task, const LeftJournal& journal,
                           const Moment& last_life);

}  // namespace train
