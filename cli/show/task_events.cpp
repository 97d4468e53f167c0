// SPDX-License-Identifier: Apache-2.0
#include "cli/show/task_events.hpp"

#include <utility>

#include "cli/terminal/talk.hpp"
#include "launcher/journal/recorded_events.hpp"

namespace train {

std::vector<RecordedEvent> events_of(SqliteTaskStore& store, const TaskRecord& task) {
  std::vector<JournalEntry> journal;
  const auto lines = store.read_journal(task.id);
  if (!lines) {
    talk(terminal_text("what has happened to task {} when cannot be read: {}", task.id,
                       terminal_text(lines.error())));
    return recorded_events(task, journal);
  }
  for (const std::string& line : *lines)
    if (auto entry = decode_entry(line)) journal.push_back(std::move(*entry));
  if (journal.size() < lines->size())
    talk(terminal_text("{} of {} entries of the journal of task {} cannot be read",
                       lines->size() - journal.size(), lines->size(), task.id));
  return recorded_events(task, journal);
}

}  // namespace train
