// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// A record that cannot be read.
struct DamagedTask {
  std::string id;         ///< as recorded, which may be anything; empty: not known
  std::string why;        ///< a sentence that names the task
  std::string next_step;  ///< what the user can do about it
};

/// Tasks, and the records that cannot be read.
struct TaskList {
  std::vector<TaskRecord> tasks;
  std::vector<DamagedTask> damaged;
};

/// The records of tasks. Results reflect the actual state: a task whose launcher has died is
/// unattended while its ranks may go on, and then `lost`, whatever was recorded last.
class TaskStore {
 public:
  virtual ~TaskStore() = default;

  /// Records a new task and marks this process as its launcher until the process ends or an update
  /// makes the task final. The id must be new.
  virtual Result<void> create(const TaskRecord& task) = 0;
  /// Changes state, times, hosts, ranks, attempts, cause and exit code of a task that this process
  /// created. If a final state cannot be recorded, the error says what became of it; the call may
  /// be repeated.
  virtual Result<void> update(const TaskRecord& task) = 0;
  /// Records that the launcher of this task, which is this process, is alive now. The last such
  /// moment is the end of a task that is found `lost`.
  virtual void note_alive(const std::string& id) = 0;
  /// One of the calls above has found that another process has become the launcher of this task;
  /// nothing was or will be recorded for this process.
  virtual bool was_displaced(const std::string& id) const = 0;
  /// The task whose id starts with `prefix`: class `no_input` if there is none or several.
  virtual Result<TaskRecord> find(const std::string& prefix) = 0;
  /// All tasks, newest first; only those that are not final unless `all`. They come without
  /// `config_text` and `plan_json`, which can be megabytes each, and without their attempts; final
  /// ones also without directories, launcher, grace, context and ranks. An unreadable record does
  /// not affect the others, and is always listed, since it is not known whether it is final.
  virtual Result<TaskList> list(bool all) = 0;
};

}  // namespace train
