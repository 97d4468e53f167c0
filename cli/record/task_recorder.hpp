// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "backends/event_loop/background.hpp"
#include "backends/event_loop/loop.hpp"
#include "launcher/ports/task_store.hpp"

namespace train {

/// Keeps the record of a running task up to date, from a separate thread, because the disk or
/// another user of the registry may delay it. When a record cannot be written, the user is told
/// once and the write is retried; the run continues.
class TaskRecorder {
 public:
  struct Timing {
    milliseconds retry{1'000};  ///< delay after a failed write
    milliseconds alive{5'000};  ///< interval between notes that the launcher is alive
  };
  /// Takes one line for the user.
  using Print = std::function<void(const TerminalText&)>;
  /// Called at most once, when another process has become the launcher of the task: nothing more is
  /// recorded.
  using OnDisplaced = std::function<void()>;

  /// `loop` and `task` must outlive the recorder.
  TaskRecorder(Loop& loop, std::shared_ptr<TaskStore> store, TaskRecord& task, Print print,
               Timing timing);
  TaskRecorder(Loop& loop, std::shared_ptr<TaskStore> store, TaskRecord& task, Print print)
      : TaskRecorder(loop, std::move(store), task, std::move(print), Timing()) {}
  TaskRecorder(const TaskRecorder&) = delete;
  TaskRecorder& operator=(const TaskRecorder&) = delete;

  void on_displaced(OnDisplaced callback) { on_displaced_ = std::move(callback); }
  /// Runs `work` on the recording thread, before anything that is requested later.
  void run_first(std::function<Result<void>()> work,
                 std::function<void(const Result<void>&)> on_done);
  /// Calls back once, from the loop, when the present state of the task is recorded, or recording
  /// it has failed.
  void when_written(std::function<void()> callback);
  /// Changes the state of the task, if the transition from the present state is allowed.
  void change(TaskState state);
  /// Records the present task soon.
  void write();
  /// Records the task within some seconds, once for all changes until then.
  void write_later() { is_stale_ = true; }
  /// Records the present task and runs the loop until that is done, for `limit` at most. Returns
  /// false if it failed, which the user was told. The store must not be used after that, because
  /// the thread may still use it.
  bool finish(milliseconds limit);

 private:
  void begin();
  /// The result of the thread's work.
  struct Written {
    Result<void> result;
    bool is_displaced = false;
  };
  void ended(const Written& written);
  bool is_displaced(bool found);
  void note_alive();
  void report_trouble(const TerminalText& trouble);

  Loop& loop_;
  std::shared_ptr<TaskStore> store_;
  TaskRecord& task_;
  Print print_;
  Timing timing_;
  Background background_;
  bool is_busy_ = false;    ///< the thread is using the store
  bool is_wanted_ = false;  ///< the task has changed since it was passed to the thread
  bool is_finishing_ = false;
  bool is_stale_ = false;  ///< `write_later` was called and its record is not written yet
  std::optional<TerminalText> trouble_;  ///< of the last write, if it failed
  bool has_reported_ = false;
  std::function<void()> when_written_;
  OnDisplaced on_displaced_ = [] {};
  bool is_displaced_ = false;
  static constexpr int most_failures_at_end = 3;
  int failures_ = 0;  ///< failed writes while finishing
  std::unique_ptr<Subscription> retry_;
  std::unique_ptr<Subscription> alive_;
};

}  // namespace train
