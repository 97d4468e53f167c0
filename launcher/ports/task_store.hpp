// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// A record that cannot be read.
struct DamagedTask {
  std::string id;         ///< as it stands there, which may be anything; empty: not known
  std::string why;        ///< a sentence that names the task
  std::string next_step;  ///< what the user can do about it
};

/// Tasks, and what cannot be read of what is kept.
struct TaskList {
  std::vector<TaskRecord> tasks;
  std::vector<DamagedTask> damaged;
};

/// Where the stories of tasks are kept. What it returns is the truth: a task whose launcher has
/// died is unattended while its ranks may go on, and then `lost`, whatever was written last.
class TaskStore {
 public:
  virtual ~TaskStore() = default;

  /// Records a new task and marks this process as its launcher until the process ends or an update
  /// makes the task final. The id must be new.
  virtual Result<void> create(const TaskRecord& task) = 0;
  /// Changes state, times, ranks, attempts, cause and exit code of a task that this process
  /// created. When a final state cannot be recorded, the error says what became of it; to try again
  /// is allowed.
  virtual Result<void> update(const TaskRecord& task) = 0;
  /// Notes that the launcher of this task, which is this process, lives now: the last such moment
  /// is the end of a task that is found `lost`.
  virtual void note_alive(const std::string& id) = 0;
  /// One of the calls above has found that another process has become the launcher of this task,
  /// and nothing was or will be recorded for this one.
  virtual bool was_displaced(const std::string& id) const = 0;
  /// The task whose id starts with `prefix`: class `no_input` when there is none or several.
  virtual Result<TaskRecord> find(const std::string& prefix) = 0;
  /// All tasks, newest first; only those that are not final unless `all`. They come without
  /// `config_text` and `plan_json`, which can be megabytes each, and without their attempts; those
  /// that are final also without directories, launcher, grace, context and ranks. One that cannot
  /// be read keeps none of the others, and is always named, since nobody knows whether it is final.
  virtual Result<TaskList> list(bool all) = 0;
};

}  // namespace train
