// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "backends/event_loop/background.hpp"
#include "backends/event_loop/loop.hpp"
#include "launcher/ports/task_store.hpp"

namespace train {

/// Keeps the record of a running task up to date, from a thread beside the loop, since the disk or
/// another user of the registry may make it wait. When a record cannot be written, the user is told
/// once and it is tried again; the run goes on.
class TaskRecorder {
 public:
  struct Timing {
    milliseconds retry{1'000};  ///< after a write that failed
    milliseconds alive{5'000};  ///< between the notes that the launcher lives
  };
  /// Takes one line for the user.
  using Say = std::function<void(const TerminalText&)>;
  /// Another process has become the launcher of the task: nothing is recorded any more. Comes at
  /// most once.
  using OnDisplaced = std::function<void()>;

  /// `loop` and `task` outlive the recorder.
  TaskRecorder(Loop& loop, std::shared_ptr<TaskStore> store, TaskRecord& task, Say say,
               Timing timing);
  TaskRecorder(Loop& loop, std::shared_ptr<TaskStore> store, TaskRecord& task, Say say)
      : TaskRecorder(loop, std::move(store), task, std::move(say), Timing()) {}
  TaskRecorder(const TaskRecorder&) = delete;
  TaskRecorder& operator=(const TaskRecorder&) = delete;

  void on_displaced(OnDisplaced callback) { on_displaced_ = std::move(callback); }
  /// Runs this on the thread that records, before anything that is asked for later.
  void run_first(std::function<Result<void>()> work,
                 std::function<void(const Result<void>&)> on_done);
  /// Calls back once, from the loop: when the task is recorded as it is now, or that has failed.
  void when_written(std::function<void()> callback);
  /// Changes the state of the task, if this state may follow the present one.
  void change(TaskState state);
  /// Records the task as it is now, soon.
  void write();
  /// Records the task within some seconds, once, however often it changes until then.
  void write_later() { is_stale_ = true; }
  /// Records the task as it is now and runs the loop until that is done, for `limit` at most. False
  /// when it could not be done, which the user was told: the store must not be used after that,
  /// since the thread may still use it.
  bool finish(milliseconds limit);

 private:
  void begin();
  /// What the thread has found out.
  struct Written {
    Result<void> result;
    bool is_displaced = false;
  };
  void ended(const Written& written);
  bool is_displaced(bool found);
  void note_alive();
  void say_trouble(const TerminalText& trouble);

  Loop& loop_;
  std::shared_ptr<TaskStore> store_;
  TaskRecord& task_;
  Say say_;
  Timing timing_;
  Background background_;
  bool is_busy_ = false;    ///< the thread has the store
  bool is_wanted_ = false;  ///< the task has changed since it was given to the thread
  bool is_finishing_ = false;
  bool is_stale_ = false;                ///< a change of the task waits to be recorded
  std::optional<TerminalText> trouble_;  ///< of the last write
  bool has_said_ = false;
  std::function<void()> when_written_;
  OnDisplaced on_displaced_ = [] {};
  bool is_displaced_ = false;
  static constexpr int most_failures_at_end = 3;
  int failures_ = 0;  ///< at the end
  std::unique_ptr<Subscription> retry_;
  std::unique_ptr<Subscription> alive_;
};

}  // namespace train
