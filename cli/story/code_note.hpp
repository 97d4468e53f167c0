// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "backends/store/sqlite_task_store.hpp"

namespace train {

/// Finds the git commit of a task's code and writes it into its record, in the background: a launch
/// never waits for git, except at its end, for as long as git may take.
class CodeNote {
 public:
  CodeNote(std::shared_ptr<SqliteTaskStore> store, const TaskRecord& task);
  ~CodeNote();
  CodeNote(const CodeNote&) = delete;
  CodeNote& operator=(const CodeNote&) = delete;

  /// Waits until the commit is recorded or the time limit is reached.
  void finish();

 private:
  std::thread thread_;
};

}  // namespace train
