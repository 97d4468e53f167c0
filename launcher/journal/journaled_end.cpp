// SPDX-License-Identifier: Apache-2.0
#include "launcher/journal/journaled_end.hpp"

#include <fmt/format.h>

#include <optional>

#include "launcher/run/outcome.hpp"

namespace train {

namespace {

// SIGTERM on every Linux: sent by `task kill` and batch systems; other signals come from a
// terminal.
constexpr int termination = 15;
// The exit codes that cli/surroundings/exit_code.hpp has for these classes.
constexpr int runtime_over_code = 124;
constexpr int no_progress_code = 79;

// Reads the end from a journal that may have any other entries.
class EndReader {
 public:
  void take(const journal_record::AttemptBegun&) { failure_.reset(); }
  void take(const journal_record::AttemptFailing& record) {
    if (record.first && !failure_) failure_ = record.first;
  }
  void take(const journal_record::StopRequested& record) {
    if (!signal_) signal_ = record.signal;
  }
  void take(const journal_record::TaskOver& record) { over_ = record; }
  template <class Other>
  void take(const Other&) {}

  bool has_end() const { return over_.has_value(); }

  void write(TaskRecord& task) const {
    if (over_->why == Sequel::succeeded) return succeed(task);
    if (over_->why == Sequel::stopped) return stop(task);
    task.state = TaskState::failed;
    if (is_in_vain(over_->why)) return vain(task);
    const int code = over_->end ? over_->end->exit_code : 0;
    if (code != 0) task.exit_code = code;
    const ErrorClass unknown = code != 0 ? ErrorClass::worker : ErrorClass::host;
    task.error_class = to_string(failure_ ? failure_->error.error_class : unknown);
    task.cause = failure_ ? failure_->error.diagnostics.front().message
                          : "its launcher died before it had recorded why";
  }

 private:
  static void succeed(TaskRecord& task) {
    task.state = TaskState::succeeded;
    task.exit_code = 0;
  }
  void stop(TaskRecord& task) const {
    const int signal = over_->signal.value_or(signal_.value_or(termination));
    task.cause = stop_text(signal);
    if (signal == runtime_over) return time_out(task);
    task.state = signal == termination ? TaskState::killed : TaskState::interrupted;
    task.exit_code = 128 + signal;
    task.error_class = to_string(ErrorClass::interrupted);
  }
  void vain(TaskRecord& task) const {
    task.exit_code = no_progress_code;
    task.error_class = to_string(ErrorClass::no_progress);
    task.cause = no_help_text(over_->why,
                              failure_ ? failure_->error.diagnostics.front().message : "not known");
  }
  static void time_out(TaskRecord& task) {
    task.state = TaskState::timeout;
    task.exit_code = runtime_over_code;
    task.error_class = to_string(ErrorClass::timeout);
  }

  std::optional<journal_record::TaskOver> over_;
  std::optional<Failure> failure_;  ///< the first failure of the last attempt
  std::optional<int> signal_;       ///< of the first stop request
};

}  // namespace

bool end_by_journal(TaskRecord& task, const std::vector<JournalEntry>& journal, UnixMillis ended) {
  EndReader reader;
  for (const JournalEntry& entry : journal)
    std::visit([&](const auto& record) { reader.take(record); }, entry.record);
  if (!reader.has_end()) return false;
  reader.write(task);
  task.is_unattended = false;
  task.ended = ended;
  end_last_attempt(task);
  return true;
}

}  // namespace train
