// SPDX-License-Identifier: Apache-2.0
#include "cli/record/task_recorder.hpp"

#include <utility>

namespace train {

TaskRecorder::TaskRecorder(Loop& loop, std::shared_ptr<TaskStore> store, TaskRecord& task,
                           Print print, Timing timing)
    : loop_(loop),
      store_(std::move(store)),
      task_(task),
      print_(std::move(print)),
      timing_(timing),
      background_(loop),
      alive_(loop.after(timing.alive, [this] { note_alive(); })) {}

void TaskRecorder::run_first(std::function<Result<void>()> work,
                             std::function<void(const Result<void>&)> on_done) {
  const auto result = std::make_shared<Result<void>>();
  const auto started = background_.run([work = std::move(work), result] { *result = work(); },
                                       [result, on_done] { on_done(*result); });
  if (!started) on_done(tl::make_unexpected(started.error()));
}

void TaskRecorder::when_written(std::function<void()> callback) {
  when_written_ = std::move(callback);
  if (!is_busy_ && !is_wanted_) write();
}

void TaskRecorder::change(TaskState state) {
  if (!is_legal_change(task_.state, state)) return;
  task_.state = state;
  write();
}

void TaskRecorder::write() {
  is_wanted_ = true;
  if (!is_busy_ && !is_displaced_) begin();
}

void TaskRecorder::begin() {
  retry_.reset();
  is_wanted_ = is_stale_ = false;
  const auto written = std::make_shared<Written>();
  const auto started = background_.run(
      [store = store_, task = task_, written] {
        written->result = store->update(task);
        written->is_displaced = !written->result && store->was_displaced(task.id);
      },
      [this, written] { ended(*written); });
  is_busy_ = started.has_value();
  if (!started) ended({started});
}

bool TaskRecorder::is_displaced(bool found) {
  if (!found) return false;
  alive_.reset();
  if (!std::exchange(is_displaced_, true)) on_displaced_();
  return true;
}

void TaskRecorder::ended(const Written& written) {
  is_busy_ = false;
  trouble_.reset();
  if (is_displaced(written.is_displaced)) {
    if (is_finishing_) loop_.stop();
    return;
  }
  if (!written.result) {
    const Error& why = written.result.error();
    trouble_ = terminal_text(why);
    is_wanted_ = true;
    if (!is_finishing_) report_trouble(*trouble_);
    // A locked registry is usually free again soon; other failures rarely pass while the user waits
    // for the end.
    const bool may_pass = why.error_class == ErrorClass::busy;
    if (is_finishing_ && !may_pass && ++failures_ == most_failures_at_end) return loop_.stop();
    retry_ = loop_.after(timing_.retry, [this] { begin(); });
  } else if (is_wanted_) {
    begin();
  } else if (is_finishing_) {
    loop_.stop();
  }
  const bool is_told = !is_wanted_ || trouble_;
  if (is_told && when_written_) std::exchange(when_written_, nullptr)();
}

// Skipped while the store writes a record, which shows as well that the launcher is alive.
void TaskRecorder::note_alive() {
  alive_ = loop_.after(timing_.alive, [this] { note_alive(); });
  if (is_busy_) return;
  if (is_stale_ && !retry_) return begin();
  const auto was_displaced = std::make_shared<bool>();
  const auto started = background_.run(
      [store = store_, id = task_.id, was_displaced] {
        store->note_alive(id);
        *was_displaced = store->was_displaced(id);
      },
      [this, was_displaced] {
        is_busy_ = false;
        if (!is_displaced(*was_displaced) && is_wanted_ && !retry_) begin();
      });
  is_busy_ = started.has_value();
}

void TaskRecorder::report_trouble(const TerminalText& trouble) {
  if (std::exchange(has_reported_, true)) return;
  print_(terminal_text("the record of this task cannot be written: {}", trouble));
}

bool TaskRecorder::finish(milliseconds limit) {
  alive_.reset();
  is_finishing_ = true;
  bool is_late = false;
  const auto deadline = loop_.after(limit, [&] {
    is_late = true;
    loop_.stop();
  });
  write();
  if (!is_displaced_) loop_.run();
  retry_.reset();
  if (is_displaced_) return false;
  if (!is_late && !trouble_) return true;
  print_(TerminalText("the end of this task could not be recorded: ") +
         trouble_.value_or(terminal_text("the disk of the registry has not answered for {} s",
                                         limit / std::chrono::seconds(1))));
  return false;
}

}  // namespace train
