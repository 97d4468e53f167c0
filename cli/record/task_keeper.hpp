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

/// Keeps beside the record of a running task what another launcher needs to go on with it, or to
/// look after its hosts. It is written by the thread that records the task, in the order of the
/// calls: the disk may hang, and with the end of the task it goes. What cannot be kept is said.
class TaskKeeper {
 public:
  using Say = std::function<void(const TerminalText& said)>;

  /// `recorder` outlives this, and this what it has been asked for.
  TaskKeeper(TaskRecorder& recorder, std::shared_ptr<SqliteTaskStore> store, std::string task_id,
             Say say);
  TaskKeeper(const TaskKeeper&) = delete;
  TaskKeeper& operator=(const TaskKeeper&) = delete;

  /// What the task was asked for. Calls back from the loop when that is kept, or cannot be.
  void keep_request(const TaskRequest& request, std::function<void()> on_done);
  /// This program.
  void keep_program();
  /// The files that its hosts get.
  void keep_context(std::shared_ptr<const ArchivedContext> context);
  /// On which hosts something of it may be left, as `keep_unsettled_hosts`.
  void keep_unsettled(const std::set<int>& hosts);

 private:
  void say_unkept(std::string_view what_follows, const Result<void>& kept);

  TaskRecorder& recorder_;
  std::shared_ptr<SqliteTaskStore> store_;
  std::string id_;
  Say say_;
};

}  // namespace train
