// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "backends/event_loop/background.hpp"
#include "backends/event_loop/loop.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "launcher/journal/journal_entry.hpp"
#include "launcher/ports/journal.hpp"
#include "launcher/record/recorded_event.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// Where the events of a task go, besides its record.
struct EventTargets {
  std::string file;       ///< --events: each event is appended as a line of JSON; empty: none
  std::string command;    ///< on_event: a shell runs it for each event, with that line; empty: none
  std::string directory;  ///< where the command runs, absolute
};

/// The journal of a task, which passes each entry on to `EventTargets` once it is written. Threads
/// do this in order, because a disk may hang and commands take long; the task never waits for it. A
/// target that fails is reported through `print`, each kind of failure once.
class EventFeed final : public Journal {
 public:
  using Print = std::function<void(const TerminalText& said)>;

  /// `loop`, `journal` and `task` must outlive this object.
  EventFeed(Loop& loop, Journal& journal, const TaskRecord& task, Print print);

  /// Until this is called, entries only go to the journal.
  void send_to(EventTargets targets) { targets_ = std::move(targets); }
  /// Sends that this launcher has taken the task over. `attempt`: that of its only trial; nothing:
  /// it is a search.
  void take_over(std::optional<int> attempt);
  void append(std::string entry, bool durable,
              std::function<void(Result<void>)> on_written) override;
  void look(std::function<void()> then) override { journal_.look(std::move(then)); }
  bool is_displaced() const override { return journal_.is_displaced(); }
  /// Sends the end of the task, as its record has it, and runs the loop until all events are
  /// delivered, for `limit` at most.
  void finish(milliseconds limit);

 private:
  bool has_targets() const { return !targets_.file.empty() || !targets_.command.empty(); }
  void written(const std::string& entry);
  void send(const RecordedEvent& event, std::optional<int> trial);
  void deliver(Background& thread, std::function<Result<void>()> work);
  void report(const Result<void>& delivered);

  Loop& loop_;
  Journal& journal_;
  const TaskRecord& task_;
  Print print_;
  EventTargets targets_;
  std::map<int, JournalEntry> attempts_;  ///< by trial: the beginning of its last attempt
  std::set<std::string> reported_;
  std::size_t pending_ = 0;  ///< deliveries that are not done yet
  bool is_finishing_ = false;
  Background file_thread_;
  Background command_thread_;
};

}  // namespace train
