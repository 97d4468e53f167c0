// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "backends/store/sqlite_task_store.hpp"

namespace train {

/// Finds out which commit a task's code is of and writes it into its record, beside everything
/// else: no launch waits for git but, at its end, for as long as git may take.
class CodeNote {
 public:
  CodeNote(std::shared_ptr<SqliteTaskStore> store, const TaskRecord& task);
  ~CodeNote();
  CodeNote(const CodeNote&) = delete;
  CodeNote& operator=(const CodeNote&) = delete;

  /// Waits until it is done.
  void finish();

 private:
  std::thread thread_;
};

}  // namespace train
