// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "backends/context/context_archive.hpp"
#include "backends/store/sqlite_task_store.hpp"
#include "cli/record/task_recorder.hpp"
#include "launcher/task/task_request.hpp"

namespace train {

/// Keeps files beside the record of a running task that another launcher needs to resume it, or to
/// clean up its hosts. The thread that records the task writes them, in the order of the calls,
/// because the disk may hang; they are deleted at the end of the task. Failures are reported
/// through `print`.
class TaskKeeper {
 public:
  using Print = std::function<void(const TerminalText& said)>;

  /// `recorder` must outlive this object; this object must outlive the work requested from it.
  TaskKeeper(TaskRecorder& recorder, std::shared_ptr<SqliteTaskStore> store, std::string task_id,
             Print print);
  TaskKeeper(const TaskKeeper&) = delete;
  TaskKeeper& operator=(const TaskKeeper&) = delete;

  /// Keeps the task's request. Calls back from the loop when it is written, or has failed.
  void keep_request(const TaskRequest& request, std::function<void()> on_done);
  /// Keeps this program.
  void keep_program();
  /// Keeps the context: the files that the hosts get.
  void keep_context(std::shared_ptr<const ArchivedContext> context);
  /// Keeps the hosts on which something of the task may be left, as `keep_unsettled_hosts`.
  void keep_unsettled(const std::set<int>& hosts);

 private:
  void report_unkept(std::string_view what_follows, const Result<void>& kept);

  TaskRecorder& recorder_;
  std::shared_ptr<SqliteTaskStore> store_;
  std::string id_;
  Print print_;
};

}  // namespace train
