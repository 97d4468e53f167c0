// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/record/task_recorder.hpp"
#include "cli/terminal/terminal.hpp"
#include "launcher/run/context_delivery.hpp"

namespace train {

/// Reports the transfer of the context of a task: lines for the user, and the task's record.
class ContextStory {
 public:
  /// All arguments must outlive this object.
  ContextStory(Terminal& terminal, TaskRecord& task, TaskRecorder& recorder)
      : terminal_(terminal), task_(task), recorder_(recorder) {}

  void named(const ContextSummary& context);
  void show_progress(const ContextProgress& progress);

 private:
  void print(const TerminalText& text);

  Terminal& terminal_;
  TaskRecord& task_;
  TaskRecorder& recorder_;
};

}  // namespace train
