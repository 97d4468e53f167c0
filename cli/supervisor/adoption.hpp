// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/log/log_sink.hpp"
#include "backends/store/sqlite_task_store.hpp"
#include "cli/supervisor/supervisor.hpp"
#include "cli/surroundings/exit_code.hpp"
#include "launcher/journal/journal_entry.hpp"
#include "launcher/journal/search_record.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/task/task_request.hpp"

namespace train {

/// A task whose launcher has died, and that this process resumes.
class Adoption {
 public:
  /// Makes this process the launcher of the task: reads its request and plans it again, takes its
  /// lock, writes a higher epoch into its journal, and truncates its logs to their last whole
  /// records. Class `busy` if another process has become its launcher; other errors leave the task
  /// unchanged. The working directory becomes that of the task's launch.
  static Result<Adoption> begin(const std::string& task_id);
  /// The same for a task whose hosts were taken away from its launcher, and of which nothing is
  /// left on them: it goes on on those of `request`, each trial that has not ended with its next
  /// attempt.
  static Result<Adoption> begin_elsewhere(const std::string& task_id, TaskRequest request);
  /// The same as `begin` for a task that is only to be stopped. Needs only the record, the journal
  /// and the hosts file of the task, and can do without the journal if that is damaged. The stop
  /// request is written into the journal.
  static Result<Adoption> begin_stop(const std::string& task_id, int signal);

  /// For a task that is only to be stopped: why its journal is unusable, if it is. Then the last
  /// attempt in its record is stopped.
  const std::optional<Error>& journal_trouble() const { return journal_trouble_; }
  /// Runs the task to its end. `on_steady` is as in `SupervisedTask`.
  Ended run(decltype(SupervisedTask::on_steady) on_steady, StopSignals& signals);
  SqliteTaskStore& store() { return *store_; }

 private:
  Adoption() = default;
  Result<void> open(const std::string& task_id);
  Result<void> read();
  Result<void> plan_elsewhere();
  Result<void> follow_moves(const Replay& known);
  Result<void> end_attempts(std::vector<JournalEntry>& journal);
  Result<void> record_place();
  Result<void> take();
  Result<std::vector<JournalEntry>> read_journal();
  Result<void> write(const JournalRecord& record, std::vector<JournalEntry>& journal,
                     int trial = 0);
  Result<std::vector<JournalEntry>> usable_journal();
  Result<void> plan_stop(const std::vector<JournalEntry>& journal);
  Result<Replay> replay_of(const std::vector<JournalEntry>& journal) const;
  Result<void> take_logs(const Replay& known, const std::vector<JournalEntry>& journal);
  template <class Logs>
  std::shared_ptr<Logs> make_logs();
  TrialLeft left_of(AttemptId of, std::vector<std::uint64_t> positions) const;
  bool may_write_stop(const Replay& known) const;

  std::shared_ptr<SqliteTaskStore> store_;
  TaskRecord task_;
  TaskRequest request_;
  std::optional<Plan> plan_;
  std::vector<Host> hosts_;                 ///< as in `SupervisedTask`
  std::optional<ExperimentConfig> search_;  ///< the experiment, if the task is a search
  std::optional<SearchRecord> left_;        ///< the state of the search
  std::optional<TaskDriver::Resumption> resume_;
  std::shared_ptr<LogSink> logs_;
  bool is_moved_ = false;
  std::optional<int> stop_signal_;
  std::optional<Error> journal_trouble_;
};

/// If another build of `train` launched the task, executes that build with these arguments. Returns
/// without an error if this build launched it, else the reason why the other build cannot be
/// executed.
Result<void> become_kept_program(const SqliteTaskStore& store, const TaskRecord& task,
                                 const std::vector<std::string>& arguments);

}  // namespace train
